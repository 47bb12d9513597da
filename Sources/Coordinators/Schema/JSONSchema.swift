public import JSONCoding

/// JSON Schemas (draft 2020-12) of what clients post, found out from the types themselves.
///
/// A type is decoded by a decoder that notes what it is asked for (`SchemaProbe`). So a schema says what the type's
/// `init(from:)` reads, be it the compiler's or handwritten, as far as it can be seen from one value; `{}` stands for
/// what cannot.
public enum JSONSchema {
    /// The schema of the payload of an example's case, as it travels in `{"type": …, "payload": …}`.
    ///
    /// The example's values serve to get through `init(from:)`; what it lacks is made up. An optional value is one that
    /// is not `required`.
    ///
    /// - Returns: `nil` where the case takes no payload, or the type does not encode as an enum does.
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
