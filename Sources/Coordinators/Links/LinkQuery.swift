/// The query of a link: `name=value` pairs with `&` between them.
struct LinkQuery {
    private let items: [Substring.UTF8View]

    /// - Parameter text: what follows the question mark.
    init(_ text: Substring) {
        items = text.utf8.split(separator: UInt8(ascii: "&"))
    }

    /// The value of the first parameter of that name, not decoded yet; empty if it has no equals sign.
    func value(of name: String) -> Substring? {
        for item in items {
            let written = item.prefix { $0 != UInt8(ascii: "=") }
            if PercentEncoding.decode(Substring(written))?.utf8.elementsEqual(name.utf8) == true {
                return Substring(item[written.endIndex...].dropFirst())
            }
        }
        return nil
    }

    /// The value that stands for a text. A plus sign is escaped, because many programs take it for a space.
    ///
    /// - Returns: `nil` if the text has a zero byte.
    static func encode(_ text: String) -> String? {
        guard !text.utf8.contains(0) else { return nil }
        return PercentEncoding.encode(text) { byte in
            switch byte {
            case UInt8(ascii: "&"), UInt8(ascii: "="), UInt8(ascii: "+"): false
            case UInt8(ascii: "/"), UInt8(ascii: "?"): true
            default: PercentEncoding.isPathCharacter(byte)
            }
        }
    }
}
