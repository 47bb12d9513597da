internal import JSONCoding

extension LinkPattern {
    /// The type of a parameter's value.
    enum ParameterType: String, Sendable, CaseIterable {
        case string, integer, number, boolean
    }
}

extension LinkPattern.ParameterType {
    /// The value of a decoded segment; `nil` if `text(of:)` would write that value differently.
    func value(of text: String) -> JSON? {
        guard let value = reading(text), self.text(of: value) == text else { return nil }
        return value
    }

    /// The text of a value; `nil` if the value is of another type.
    func text(of value: JSON) -> String? {
        switch (self, value) {
        case (.string, .string(let text)): text
        case (.integer, .integer(let integer)), (.number, .integer(let integer)): String(integer)
        case (.number, .number(let number)) where number.isFinite: number.description
        case (.boolean, .bool(let bool)): String(bool)
        default: nil
        }
    }

    private func reading(_ text: String) -> JSON? {
        switch self {
        case .string: .string(text)
        case .integer: Int(text).map(JSON.integer)
        case .number: Int(text).map(JSON.integer) ?? Double(text).map(JSON.number)
        case .boolean: Bool(text).map(JSON.bool)
        }
    }
}
