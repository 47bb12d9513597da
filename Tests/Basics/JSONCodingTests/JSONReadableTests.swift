import JSONCoding
import Testing

@Suite struct JSONReadableTests {
    enum Color: String, JSONReadable { case red, blue }

    struct Shape: JSONReadable, Equatable {
        let name: String
        let color: Color?
        let isFilled: Bool?
        let corners: [Corner]
        let anything: JSON

        init(json: JSON) throws(JSONDecodingError) {
            name = try json.member("name")
            color = try json.member(ifAny: "color")
            isFilled = try json.member(ifAny: "isFilled")
            corners = try json.member("corners")
            anything = try json.member("anything")
        }
    }

    struct Corner: JSONReadable, Equatable {
        let x: Int

        init(json: JSON) throws(JSONDecodingError) { x = try json.member("x") }
    }

    struct Odd: JSONReadable {
        init(json: JSON) throws(JSONDecodingError) { throw JSONDecodingError(path: [], reason: "is odd", code: .type) }
    }

    @Test func `what is wrong deep inside is said with its code`() {
        #expect(throws: JSONDecodingError(path: ["deep"], reason: "is odd", code: .type)) {
            let _: Odd = try JSON.object(["deep": 1]).member("deep")
        }
    }

    @Test func `members are read, and optional ones may be missing or null`() throws {
        let shape = try Shape(
            json: [
                "name": "a", "color": "blue", "isFilled": .null, "corners": [["x": 1], ["x": 2.0]], "anything": .null,
            ])

        #expect(shape.name == "a" && shape.color == .blue && shape.isFilled == nil && shape.anything == .null)
        #expect(shape.corners.map(\.x) == [1, 2])
    }

    static let misfits: [(JSON, pointer: String, reason: String)] = [
        ([], "", "must be an object"),
        (["name": "a", "corners": []], "", "lacks “anything”"),
        (["name": .null], "/name", "must be a string"),
        (["name": "a", "color": "green"], "/color", "is not acceptable"),
        (["name": "a", "color": 1], "/color", "must be a string"),
        (["name": "a", "isFilled": 1], "/isFilled", "must be a boolean"),
        (["name": "a", "corners": [:]], "/corners", "must be an array"),
        (["name": "a", "corners": [["x": 1], ["x": 1.5]]], "/corners/1/x", "must be an integer in range"),
        (["name": "a", "corners": [["x": 1], [:]]], "/corners/1", "lacks “x”"),
    ]

    @Test(arguments: misfits)
    func `a value that does not fit is reported with pointer and reason`(json: JSON, pointer: String, reason: String) {
        #expect {
            try Shape(json: json)
        } throws: { error in
            let error = error as? JSONDecodingError
            return error?.pointer == pointer && error?.reason == reason
        }
    }
}
