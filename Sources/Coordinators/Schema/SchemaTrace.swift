internal import JSONCoding

/// What a decoder was asked for at one place of a value.
///
/// A type may ask for several things at one place, for example first a number and then a text; the schema then lists
/// them all. Used by one probe, on one thread.
final class SchemaTrace {
    private struct Member {
        let name: String
        var isRequired: Bool
        let trace: SchemaTrace
    }

    private var values: [JSONObject] = []
    private var isAnything = false
    private var isObject = false
    private var members: [Member] = []
    /// Whether the type asked for the names of the object's members: then the names are not fixed.
    private var hasOpenNames = false
    private var mapValue: SchemaTrace?
    private var arrayElement: SchemaTrace?
}

// What was asked for.
extension SchemaTrace {
    /// A value with this schema.
    func note(_ schema: JSONObject) {
        if !values.contains(schema) { values.append(schema) }
    }

    /// Any value at all.
    func noteAnything() { isAnything = true }

    func noteObject() { isObject = true }

    func noteNames() { hasOpenNames = true }

    /// A member of an object. It is required unless it was ever asked for in a way that permits its absence.
    func noteMember(_ name: String, isRequired: Bool) -> SchemaTrace {
        isObject = true
        if let index = members.firstIndex(where: { $0.name == name }) {
            members[index].isRequired = members[index].isRequired && isRequired
            return members[index].trace
        }
        let member = Member(name: name, isRequired: isRequired, trace: SchemaTrace())
        members.append(member)
        return member.trace
    }

    /// The values of an object with arbitrary names.
    func noteMap() -> SchemaTrace {
        let trace = mapValue ?? SchemaTrace()
        mapValue = trace
        return trace
    }

    /// The elements of an array, all alike.
    func noteArray() -> SchemaTrace {
        let trace = arrayElement ?? SchemaTrace()
        arrayElement = trace
        return trace
    }

    /// Adds what a type did not ask for because it threw, as far as an example shows it.
    func fillIn(from example: JSON) {
        switch example {
        case .null: break
        case .bool where isBlank: note(["type": "boolean"])
        case .integer where isBlank: note(["type": "integer"])
        case .number where isBlank: note(["type": "number"])
        case .string where isBlank: note(["type": "string"])
        case .array(let elements) where isBlank:
            let element = noteArray()
            for example in elements { element.fillIn(from: example) }
        case .object(let object) where isBlank || isObject && !hasOpenNames:
            noteObject()
            for example in object.members {
                let trace = member(example.name) ?? noteMember(example.name, isRequired: false)
                trace.fillIn(from: example.value)
            }
        default: break
        }
    }

    private var isBlank: Bool {
        values.isEmpty && !isAnything && !isObject && mapValue == nil && arrayElement == nil
    }
}

// What has been found.
extension SchemaTrace {
    var memberNames: [String] { members.map(\.name) }

    func member(_ name: String) -> SchemaTrace? {
        members.first { $0.name == name }?.trace
    }

    var schema: JSON {
        var alternatives = values
        if isObject { alternatives.append(objectSchema) }
        if let mapValue { alternatives.append(["type": "object", "additionalProperties": mapValue.schema]) }
        if let arrayElement { alternatives.append(["type": "array", "items": arrayElement.schema]) }
        if isAnything || alternatives.isEmpty { return [:] }
        return alternatives.count == 1 ? .object(alternatives[0]) : ["anyOf": .array(alternatives.map(JSON.object))]
    }

    private var objectSchema: JSONObject {
        var schema: JSONObject = ["type": "object"]
        if hasOpenNames || members.isEmpty { return schema }
        schema["properties"] = .object(JSONObject(members.map { ($0.name, $0.trace.schema) }))
        let required = members.filter(\.isRequired).map { JSON.string($0.name) }
        if !required.isEmpty { schema["required"] = .array(required) }
        return schema
    }
}
