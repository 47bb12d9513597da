internal import Coordinators
internal import FoundationEssentials
internal import JSONCoding
internal import Sodium

// The text of a record: one line of JSON with stable names, which a person can read. Times are milliseconds since 1970.
//
//     {"session": "s_…", "app": "tabs", "token": "(SHA-256 in hexadecimal digits)", "createdAt": 1764500000000,
//      "origin": "s_…", "firstVersion": 4, "version": 7, "time": …, "keptUntil": …,
//      "expiresAt": …, "event": "item", "operations": […], "finished": […], "dismissed": […],
//      "visible": {…}, "state": {…}}
//
// `origin` is there in a fork, `firstVersion` where the token was replaced, see `SessionIdentity`. The members
// from `expiresAt` on are missing once the session has ended; `state` is what `NavigationState.encoded` writes.
//
// Most records lean on that of an earlier version, the `base`, which tells everything: they have no `app`, `token` and
// `createdAt`, `visible` is a key, and `state` only names what it shares with the other one, see `SharedParts`.
//
//     {"session": "s_…", "version": 8, "base": 7, …, "visible": "k6", "state": {…, "coordinators": [1, 2, {…}], …}}

extension SessionRecord {
    /// What a store keeps. Of what was read back from one, it tells everything.
    public var text: [UInt8] {
        JSONWriter.bytes(capacity: 2000) { writer in write(to: &writer) }
    }

    private func write(to writer: inout JSONWriter) {
        let base = base
        writer.object { writer in
            if base == nil { writer.encoded(identity.encodedMembers) } else { writer.member("session", id.text) }
            writer.member("version", version)
            writer.member("base", ifAny: base?.version)
            writer.member("time", time.milliseconds)
            writer.member("keptUntil", keptUntil.milliseconds)
            switch content {
            case .state(let state, let transition):
                writer.member("expiresAt", state.expiresAt.milliseconds)
                writer.encoded(transition.encodedMembers)
                let navigation = state.navigation
                if let visible = navigation.visible {
                    writer.name("visible")
                    if base == nil {
                        writer.object { $0.encoded(visible.encodedMembers) }
                    } else {
                        writer.value(visible.key)
                    }
                }
                writer.name("state")
                navigation.save(to: &writer, against: base?.parts)
            case .saved(let state, let expiresAt, let note, _, _):
                writer.member("expiresAt", expiresAt.milliseconds)
                writer.member("event", ifAny: note.event)
                writer.member("operations", note.operations)
                writer.member("finished", note.finished)
                writer.member("dismissed", ifAny: note.dismissed)
                writer.member("visible", note.visible)
                writer.member("state", state)
            case .ended: break
            }
        }
    }

    /// - Throws: what is wrong with the text; it has a `base`, for one.
    public convenience init(parsing text: [UInt8]) throws(RecordError) {
        try self.init(try RecordText(parsing: text), base: nil)
    }

    /// - Parameter base: the record that the text leans on; `nil` where it tells everything.
    public convenience init(_ text: RecordText, base: SessionRecord?) throws(RecordError) {
        let json = text.json
        let id = try json.id()
        let version = try json.version("version")
        guard base?.version == text.base, base == nil || base?.id == id else { throw .invalid(member: "base") }
        let identity: SessionIdentity
        if let base {
            identity = base.identity
        } else {
            identity = SessionIdentity(
                id: id, app: try json.part("app"), token: try json.digest("token"),
                createdAt: try json.time("createdAt"),
                origin: json["origin"] == nil ? nil : try json.id("origin"),
                firstVersion: json["firstVersion"] == nil ? 1 : try json.part("firstVersion"))
            guard (1...version).contains(identity.firstVersion) else { throw .invalid(member: "firstVersion") }
        }
        self.init(
            identity, version: version, time: try json.time("time"), keptUntil: try json.time("keptUntil"),
            content: try SessionRecord.content(text, base))
    }

    private static func content(_ text: RecordText, _ base: SessionRecord?) throws(RecordError) -> Content {
        let json = text.json
        guard var state = json["state"] else { return .ended }
        var visible = json["visible"] ?? .null
        if let base {
            guard let saved = base.savedState, let whole = try? NavigationState.completed(state, from: saved) else {
                throw .invalid(member: "state")
            }
            state = whole
            if let key = visible.string {
                guard let screen = NavigationState.screen(key, inSaved: state) else {
                    throw .invalid(member: "visible")
                }
                visible = screen
            }
        }
        let note = TransitionNote(
            event: json["event"]?.string, visible: visible, operations: json["operations"] ?? [],
            finished: json["finished"] ?? [], dismissed: json["dismissed"])
        return .saved(
            state, expiresAt: try json.time("expiresAt"), note: note, isWhole: base == nil, size: text.size)
    }
}

/// The text of a record, read as far as that goes without the record that it may lean on.
public struct RecordText: Sendable {
    fileprivate let json: JSON
    fileprivate let size: Int
    /// The version that it leans on; `nil` where it tells everything.
    public let base: Int?

    /// - Throws: what is wrong with the text.
    public init(parsing text: [UInt8]) throws(RecordError) {
        json = try JSON(record: text)
        size = text.count
        base = json["base"] == nil ? nil : try json.version("base")
    }
}

extension StoredAnswer {
    /// One line of JSON: `{"session", "key", "fingerprint", "version", "replacedToken"?, "body"?}`.
    public var text: [UInt8] {
        JSONWriter.bytes(capacity: 2 * (body?.count ?? 0) + 200) { writer in
            writer.object { writer in
                writer.member("session", session.text)
                writer.member("key", key)
                writer.member("fingerprint", fingerprint.hex)
                writer.member("version", version)
                writer.member("replacedToken", ifAny: replacedToken?.hex)
                writer.member("body", ifAny: body.map { String(decoding: $0, as: UTF8.self) })
            }
        }
    }

    /// The text of `withoutBody`, cut out of the whole one, for that may be long. No member before the body has a text of the
    /// client's, so the first place that looks like it is it.
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
            replacedToken: json["replacedToken"] == nil ? nil : try json.digest("replacedToken"))
    }
}

/// Why a text is no record.
public enum RecordError: Error, Equatable, Sendable {
    case notJSON
    /// The member is missing or cannot be.
    case invalid(member: String)
}

extension RecordError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notJSON: "it is not JSON"
        case .invalid(let member): "its “\(member)” is missing or out of range"
        }
    }
}

extension JSON {
    fileprivate init(record text: [UInt8]) throws(RecordError) {
        do { self = try JSON(parsing: text, maximumDepth: SessionRecord.depthLimit) } catch { throw .notJSON }
    }

    fileprivate func part<Value: JSONReadable>(_ name: String) throws(RecordError) -> Value {
        do { return try member(name) } catch { throw .invalid(member: name) }
    }

    fileprivate func version(_ name: String) throws(RecordError) -> Int {
        let version: Int = try part(name)
        guard (1...SessionRecord.versionLimit).contains(version) else { throw .invalid(member: name) }
        return version
    }

    fileprivate func time(_ name: String) throws(RecordError) -> Date {
        Date(milliseconds: try part(name))
    }

    fileprivate func id(_ name: String = "session") throws(RecordError) -> SessionID {
        guard let id = SessionID(try part(name)) else { throw .invalid(member: name) }
        return id
    }

    fileprivate func digest(_ name: String) throws(RecordError) -> SHA256Digest {
        guard let digest = SHA256Digest(hex: try part(name)) else { throw .invalid(member: name) }
        return digest
    }
}
