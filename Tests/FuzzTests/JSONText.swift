internal import JSONCoding

/// A value that was read as JSON stays within the bounds, and is written as JSON that reads as the same value.
enum JSONText: FuzzTarget {
    static var seeds: [[UInt8]] {
        let texts = [
            #""\u0000\u0001\u001f\b\f\r\t\u007f""#, "null", "[true,false]", "-0", "0.1e-7", "9223372036854775807",
            "-9223372036854775808", "1E400",
            #"{"a":{"b":[1,2.5,"\u00e9\ud83d\ude00\n\/\\\""]},"c":null}"#, "\"é\u{1F600}\"", " [ 1 , 2 ] ",
            #"{"a":1,"a":2}"#, String(repeating: "[", count: 33), #"{"type":"push","payload":1,"screen":"k1"}"#,
            "{" + (0..<20).map { "\"\($0)\":\($0)" }.joined(separator: ",") + "}",
        ]
        return texts.map { Array($0.utf8) }
    }

    static func check(_ input: [UInt8]) {
        guard let json = try? JSON(parsing: input) else { return }
        let text = json.description

        guard let again = try? JSON(parsing: Array(text.utf8)) else { fatalError("broken: it reads what it writes") }
        promise("the value is the same", again == json)
        promise("the text is the same", again.description == text)
        promise("it nests no deeper than 32", depth(of: json) <= 32)
        promise("names are distinct", hasDistinctNames(json))
        promise("its own coder takes it", (try? JSON(encoding: json).decode(as: JSON.self)) == json)
    }

    private static func depth(of json: JSON) -> Int {
        switch json {
        case .array(let elements): 1 + (elements.map(depth).max() ?? 0)
        case .object(let object): 1 + (object.members.map { depth(of: $0.value) }.max() ?? 0)
        default: 0
        }
    }

    private static func hasDistinctNames(_ json: JSON) -> Bool {
        switch json {
        case .array(let elements): elements.allSatisfy(hasDistinctNames)
        case .object(let object):
            Set(object.names.map { Array($0.utf8) }).count == object.count
                && object.members.allSatisfy { hasDistinctNames($0.value) }
        default: true
        }
    }
}
