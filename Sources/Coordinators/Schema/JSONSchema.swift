public import JSONCoding

/// JSON Schemas (draft 2020-12) of what clients post, derived from the types themselves.
///
/// A type is decoded by a decoder that notes what the type asks for (`SchemaProbe`). So a schema describes what the
/// type's `init(from:)` reads, whether the compiler or the author wrote it, as far as one value shows; `{}` stands for
/// the rest.
public enum JSONSchema {
    /// The schema of the payload of an example's case, as it is posted in `{"type": …, "payload": …}`.
    ///
    /// `init(from:)` gets the example's values; values that the example lacks are made up. An optional value is not
    /// `required`.
    ///
    /// - Returns: `nil` if the case takes no payload, or if the type does not encode as an enum does.
    public static func payloadSchema<Event: NavigationEvent>(of example: Event) -> JSON? {
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
