internal import JSONCoding

/// A type whose schema is known without probing its `init(from:)`, or cannot be found by probing it.
protocol KnownSchema {
    /// Notes the type's schema.
    ///
    /// - Returns: a value of the type, with which decoding continues.
    static func probe(_ probe: SchemaProbe) -> Self
}

extension JSON: KnownSchema {
    static func probe(_ probe: SchemaProbe) -> Self {
        probe.trace.noteAnything()
        return probe.json ?? .null
    }
}

extension JSONObject: KnownSchema {
    static func probe(_ probe: SchemaProbe) -> Self {
        probe.trace.note(["type": "object"])
        return probe.json?.object ?? [:]
    }
}

extension Date: KnownSchema {
    static func probe(_ probe: SchemaProbe) -> Self {
        probe.trace.note(["type": "string", "format": "date-time"])
        return probe.json?.date ?? Date(timeIntervalSince1970: 0)
    }
}

extension Secret: KnownSchema {
    static func probe(_ probe: SchemaProbe) -> Self {
        probe.trace.note(["type": "string", "writeOnly": true])
        return Secret(probe.json?.string ?? "")
    }
}

extension Optional: KnownSchema where Wrapped: Decodable {
    static func probe(_ probe: SchemaProbe) -> Self {
        let value = try? probe.decode(Wrapped.self)
        probe.trace.note(["type": "null"])
        return probe.json == nil ? nil : value
    }
}

extension Dictionary: KnownSchema where Key: Decodable, Value: Decodable {
    static func probe(_ probe: SchemaProbe) -> Self {
        if Key.self is any CodingKeyRepresentable.Type {
            probeMap(probe)
        } else {
            probePairs(probe)
        }
        return (try? probe.json?.decode(as: Self.self)) ?? [:]
    }

    private static func probeMap(_ probe: SchemaProbe) {
        let trace = probe.trace.noteMap()
        let examples = probe.json?.object?.members.map(\.value) ?? []
        for example in examples.isEmpty ? [nil] : examples.map(Optional.some) {
            _ = try? probe.nested(example, trace, TextKey(stringValue: "")).decode(Value.self)
        }
    }

    /// A dictionary whose keys are not texts is encoded as an array, in which keys and values alternate.
    private static func probePairs(_ probe: SchemaProbe) {
        let place = probe.nested(nil, probe.trace.noteArray(), TextKey(intValue: 0))
        _ = try? place.decode(Key.self)
        _ = try? place.decode(Value.self)
    }
}
