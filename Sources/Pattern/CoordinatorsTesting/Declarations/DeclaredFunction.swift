internal import ByteText

/// A function of a type, as its declaration has it.
struct DeclaredFunction: Equatable {
    struct Parameter: Equatable {
        /// `_` if there is none.
        let label: String
        /// Without its module, or the type in which it is: `inout Navigator`.
        let type: String
    }

    let isStatic: Bool
    let base: String
    let parameters: [Parameter]

    /// - Parameter text: such as `static migrate(_: JSONCoding.JSON, from: Swift.Int) throws -> JSONCoding.JSON`. If no
    ///   parameter has a label, the types stand alone.
    /// - Returns: `nil` if it is no function, or a private one.
    init?(_ text: some StringProtocol) {
        let isStatic = text.hasPrefix("static ")
        let text = Substring(isStatic ? text.dropFirst("static ".count) : text[...])
        let base = DeclaredFunction.word(in: text)
        guard !base.isEmpty, text[base.endIndex...].first == "(" else { return nil }
        self.isStatic = isStatic
        self.base = String(base)
        self.parameters = DeclaredFunction.list(in: text[base.endIndex...].dropFirst()).map { parameter in
            let label = DeclaredFunction.word(in: parameter)
            let isLabel = parameter[label.endIndex...].hasPrefix(": ")
            let type = isLabel ? parameter[label.endIndex...].dropFirst(2) : parameter
            return Parameter(
                label: isLabel ? String(label) : "_", type: String(type.replacing(/\w+\./, with: "")))
        }
    }

    private static func word(in text: Substring) -> Substring {
        text.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
    }

    /// The parts between commas, up to the parenthesis that closes the list.
    private static func list(in text: Substring) -> [Substring] {
        var (parts, start, depth, previous) = ([Substring](), text.startIndex, 0, Character(" "))
        for index in text.indices {
            let character = text[index]
            if depth == 0, character == ")" || character == "," {
                if start < index { parts.append(text[start..<index]) }
                start = text.index(index, offsetBy: 2, limitedBy: text.endIndex) ?? text.endIndex
                if character == ")" { break }
            }
            switch character {
            case "(", "[", "<": depth += 1
            case ")", "]": depth -= 1
            case ">" where previous != "-": depth -= 1
            default: break
            }
            previous = character
        }
        return parts
    }

    /// Whether its author probably wanted to declare the other one: the name differs by a letter, or by two if it is long. A
    /// short name is also one of the author's own functions, unless the parameters are those of the other one.
    func mayMean(_ other: DeclaredFunction) -> Bool {
        let isLong = other.base.count >= 10
        guard base.editDistance(to: other.base) <= (isLong ? 2 : 1) else { return false }
        let (types, others) = (parameters.map(\.type), other.parameters.map(\.type))
        return isLong || !types.isEmpty && types.count <= others.count && types == Array(others.prefix(types.count))
    }

    /// `migrate(_:from:)`
    var name: String { "\(base)(\(parameters.map { "\($0.label):" }.joined()))" }

    /// `migrate(_: JSON, from: Int)`
    var nameWithTypes: String {
        "\(base)(\(parameters.map { "\($0.label): \($0.type)" }.joined(separator: ", ")))"
    }

    /// The words for a declaration that should be the other one.
    func correction(to other: DeclaredFunction) -> (declared: String, meant: String) {
        if name != other.name { return (name, other.name) }
        if isStatic != other.isStatic { return (name, "static func \(other.name)") }
        return (nameWithTypes, other.nameWithTypes)
    }
}
