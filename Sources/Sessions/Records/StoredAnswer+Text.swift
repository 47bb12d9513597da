internal import Coordinators
internal import JSONCoding
internal import Sodium

extension StoredAnswer {
    /// One line of JSON: `{"session", "key", "fingerprint", "version", "replacedToken"?, "endings"?, "body"?}`.
    public var encoded: [UInt8] {
        JSONWriter.bytes(capacity: 2 * (body?.count ?? 0) + 200) { writer in
            writer.object { writer in
                writer.member("session", session.text)
                writer.member("key", key)
                writer.member("fingerprint", fingerprint.hex)
                writer.member("version", version)
                writer.member("replacedToken", ifAny: replacedToken?.hex)
                if !endings.isEmpty {
                    writer.name("endings")
                    writer.array { writer in for ending in endings { ending.write(to: &writer) } }
                }
                writer.member("body", ifAny: body.map { String(decoding: $0, as: UTF8.self) })
            }
        }
    }

    /// The text of `withoutBody`, cut from the whole text, because parsing that may take long. In a text of JSON, quotes
    /// are escaped, so the first match is the body.
    public static func textWithoutBody(_ text: [UInt8]) -> [UInt8] {
        guard let body = text.firstRange(of: Array(#","body":"#.utf8)) else { return text }
        return text[..<body.lowerBound] + Array("}".utf8)
    }

    /// - Throws: what is wrong with the text.
    public init(parsing text: [UInt8]) throws(RecordError) {
        let json = try JSON(record: text)
        self.init(
            session: try json.id(), key: try json.part("key"), fingerprint: try json.digest("fingerprint"),
            version: try json.version("version"),
            body: json["body"] == nil ? nil : Array((try json.part("body") as String).utf8),
            replacedToken: json["replacedToken"] == nil ? nil : try json.digest("replacedToken"),
            endings: try (json["endings"]?.array ?? []).map { json throws(RecordError) in try SessionEnding(json) })
    }
}

/// `{"user", "sessions": "all" | "others" | "s_…"}`
extension SessionEnding {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("user", user)
            switch sessions {
            case .all: writer.member("sessions", "all")
            case .others: writer.member("sessions", "others")
            case .one(let id): writer.member("sessions", id)
            }
        }
    }

    fileprivate init(_ json: JSON) throws(RecordError) {
        let user: String = try json.part("user")
        guard UserID.isValid(user) else { throw .invalid(member: "user") }
        let sessions: UserSessions =
            switch try json.part("sessions") as String {
            case "all": .all
            case "others": .others
            case let id: .one(id)
            }
        self.init(user: user, sessions: sessions)
    }
}
