public import JSONCoding

/// JSON Schemas (draft 2020-12) of what clients post, derived from the types themselves.
///
/// A type is decoded by a decoder that notes the values that the type reads (`SchemaProbe`). So a schema describes what
/// `init(from:)` reads for one value, whether the compiler or the author wrote it. Where that shows nothing, the schema
/// is `{}`, which permits any value.
public enum JSONSchema {
    /// The schema of what a type decodes.
    ///
    /// - Parameter example: an encoded value; `nil` if all values have to be made up.
    static func schema<Value: Decodable>(of type: Value.Type, example: JSON?) -> JSON {
        let trace = SchemaTrace()
        _ = try? SchemaProbe(example, trace).decode(type)
        return trace.schema
    }

    /// The schema of the payload of an example's case, as it is posted in `{"type": …, "payload": …}`.
    ///
    /// `init(from:)` reads the example's values, and made-up ones where the example has none. An optional value is not
    /// `required`.
    ///
    /// - Returns: `nil` if the case takes no payload, or if the type does not encode as an enum does.
    public static func payloadSchema<Event: Codable>(of example: Event) -> JSON? {
        guard let encoded = try? JSON(encoding: example).object, let event = encoded.members.first, encoded.count == 1
        else { return nil }
        let trace = SchemaTrace()
        _ = try? SchemaProbe(.object(encoded), trace).decode(Event.self)
        guard let payload = trace.member(event.name) else { return nil }
        switch payload.memberNames {
        case []: return nil
        case ["_0"]: return payload.member("_0")?.schema
        default: return payload.schema
        }
    }
}

/// Finds every place at which a payload does not fit its event's schema.
///
/// Decoding stops at the first fault, but a form shows all of them at once. The check knows only the keywords that
/// occur in derived schemas, see `JSONSchema`.
struct SchemaCheck {
    /// More faults than a form has are not reported, so that an answer cannot grow with the payload.
    private static let limit = 32

    private(set) var faults: [PayloadFault] = []

    /// - Parameter path: where the value is in the posted event.
    static func faults(of value: JSON, _ schema: JSON, at path: [String]) -> [PayloadFault] {
        var check = SchemaCheck()
        check.check(value, schema, at: path)
        return check.faults
    }

    private mutating func check(_ value: JSON, _ schema: JSON, at path: [String]) {
        guard faults.count < SchemaCheck.limit else { return }
        // A schema with choices has `oneOf`, too, for their titles.
        if let values = schema["enum"]?.array {
            if !values.contains(value) { note(path, "must be \(SchemaCheck.list(values))", .enum) }
            return
        }
        if let alternatives = schema["anyOf"]?.array ?? schema["oneOf"]?.array {
            return check(value, alternatives: alternatives, at: path)
        }
        switch schema["type"]?.string {
        case "object":
            guard let object = value.object else { return note(path, "must be an object", .type) }
            check(object, schema, at: path)
        case "array":
            guard let elements = value.array else { return note(path, "must be an array", .type) }
            guard let schema = schema["items"] else { return }
            // Many elements may be the same choice, which is looked for once.
            var chosen: Set<JSON>? = schema["enum"] == nil ? nil : []
            for (index, element) in elements.enumerated() where chosen?.contains(element) != true {
                let count = faults.count
                check(element, schema, at: path + [String(index)])
                if faults.count == count { chosen?.insert(element) }
            }
        case "string":
            guard let text = value.string else { return note(path, "must be a string", .type) }
            check(text, schema, at: path)
        case "integer":
            // An integer without bounds in its schema has the bounds of `Int`.
            let isUsual = schema["maximum"] == nil || schema["minimum"] == nil
            guard value.integer != nil || !isUsual && value.integer(as: Int128.self) != nil else {
                return note(path, "must be an integer in range", .type)
            }
            check(number: value, schema, at: path)
        case "number":
            guard value.number != nil else { return note(path, "must be a number", .type) }
            check(number: value, schema, at: path)
        case "boolean":
            guard case .bool = value else { return note(path, "must be a boolean", .type) }
        case "null":
            guard value == .null else { return note(path, "must be left out", .type) }
        default: break
        }
    }

    /// Reports the faults of the alternative that has the fewest.
    private mutating func check(_ value: JSON, alternatives: [JSON], at path: [String]) {
        let found = alternatives.map { SchemaCheck.faults(of: value, $0, at: path) }
        faults += found.min { $0.count < $1.count } ?? []
    }

    private mutating func check(_ object: JSONObject, _ schema: JSON, at path: [String]) {
        let properties = schema["properties"]?.object ?? [:]
        let required = schema["required"]?.array ?? []
        for property in properties.members {
            let isRequired = required.contains(.string(property.name))
            if let value = object[property.name] {
                // `null` stands for an optional value that is not there.
                if isRequired || value != .null { check(value, property.value, at: path + [property.name]) }
            } else if isRequired {
                note(path + [property.name], "is missing", .required)
            }
        }
        guard case .object? = schema["additionalProperties"], let values = schema["additionalProperties"] else {
            return
        }
        for member in object.members where properties[member.name] == nil {
            if let names = schema["propertyNames"] { check(.string(member.name), names, at: path + [member.name]) }
            check(member.value, values, at: path + [member.name])
        }
    }

    /// Lengths are counted in Unicode scalars, as JSON Schema does.
    private mutating func check(_ text: String, _ schema: JSON, at path: [String]) {
        let length = text.unicodeScalars.count
        if let least = schema["minLength"]?.integer, length < least {
            note(
                path, least == 1 ? "must not be empty" : "must have at least \(least) characters", .minLength,
                bound: .integer(least))
        }
        if let most = schema["maxLength"]?.integer, length > most {
            note(path, "must have at most \(most) characters", .maxLength, bound: .integer(most))
        }
    }

    private mutating func check(number: JSON, _ schema: JSON, at path: [String]) {
        if let least = schema["minimum"], number.isLess(than: least) {
            note(path, "must be at least \(least)", .minimum, bound: least)
        }
        if let most = schema["maximum"], most.isLess(than: number) {
            note(path, "must be at most \(most)", .maximum, bound: most)
        }
    }

    private mutating func note(_ path: [String], _ reason: String, _ code: PayloadFault.Code, bound: JSON? = nil) {
        guard faults.count < SchemaCheck.limit else { return }
        faults.append(PayloadFault(path: path, reason: reason, code: code, bound: bound))
    }

    private static func list(_ values: [JSON]) -> String {
        let texts = values.map { value in value.string.map { "“\($0)”" } ?? value.integer.map(String.init) ?? "null" }
        return "one of " + texts.joined(separator: ", ")
    }
}

extension JSON {
    /// Compares two numbers as `Decimal`s if they fit, otherwise as floats. Values that are not numbers are not less.
    fileprivate func isLess(than other: JSON) -> Bool {
        if let left = decimal, let right = other.decimal { return left < right }
        guard let left = number, let right = other.number else { return false }
        return left < right
    }
}

/// One place at which a posted event does not fit, and why.
public struct PayloadFault: Equatable, Sendable {
    /// What is wrong, for programs. The cases are named like the keywords of JSON Schema.
    public enum Code: String, Sendable {
        /// The value must be there, and is not.
        case required
        /// The value is of another type.
        case type
        /// The value is none of those that are allowed.
        case `enum`
        case minimum, maximum, minLength, maxLength
        /// The coordinator refuses the value, see `FieldError`.
        case refused
        /// Anything else.
        case invalid
    }

    /// The members that lead to the fault, starting at the posted event: `["payload", "email"]`.
    public let path: [String]
    /// What was expected there. Contains nothing that was posted. Of a value that the coordinator refuses: its words for the
    /// user.
    public let reason: String
    public let code: Code
    /// The bound that a length or a number violates.
    public let bound: JSON?

    public init(path: [String], reason: String, code: Code, bound: JSON? = nil) {
        self.path = path
        self.reason = reason
        self.code = code
        self.bound = bound
    }

    /// - Parameter path: the place of the fault in the posted event.
    init(_ error: JSONDecodingError, at path: [String]) {
        self.init(path: path, reason: error.reason, code: Code(rawValue: error.code.rawValue) ?? .invalid)
    }
}
