internal import Coordinators
internal import FoundationEssentials
internal import JSONCoding
internal import Sodium

/// The parsed text of a record, before its base version is read.
///
/// A record is one line of JSON with stable names, which a person can read. Times are milliseconds since 1970.
///
///     {"session": "s_…", "app": "tabs", "token": "(SHA-256 in hexadecimal digits)", "createdAt": 1764500000000,
///      "origin": "s_…", "version": 7, "time": …, "keptUntil": …,
///      "expiresAt": …, "event": "item", "operations": […], "finished": […], "dismissed": […],
///      "visible": {…}, "state": {…}}
///
/// Only a fork has an `origin`. A session whose tokens have changed, or that has several, has a list instead of `token`,
/// see `AccessToken`:
///
///     "tokens": [{"number": 3, "token": "…", "label": "TV", "createdAt": …, "usedAt": …, "firstVersion": 4}, …],
///     "lastToken": 5
///
/// `lastToken` is the largest number that was ever given, if it is not that of a token in the list. `user` is who is
/// signed in, if anybody is.
/// The record of a session's end has no members from `expiresAt` on. `state` is what `NavigationState.encoded` writes.
///
/// Most records are delta records: `base` is their base version, an earlier version with a full record, and they leave
/// out what is the same there. They have none of the members from `app` to `origin`, and none of these, `visible` is a key, and
/// `state` only names the parts that the base version's state has, too, see `SharedParts`.
///
///     {"session": "s_…", "version": 8, "base": 7, …, "visible": "k6", "state": {…, "coordinators": [1, 2, {…}], …}}
public struct RecordText: Sendable {
    fileprivate let json: JSON
    /// `nil` for a full record.
    public let baseVersion: Int?

    /// - Throws: what is wrong with the text.
    public init(parsing text: [UInt8]) throws(RecordError) {
        json = try JSON(record: text)
        baseVersion = json["base"] == nil ? nil : try json.version("base")
    }
}

extension SessionRecord {
    /// Reads a full record.
    ///
    /// - Throws: what is wrong with the text, for example that it has a `base`.
    public init(parsing text: [UInt8]) throws(RecordError) {
        try self.init(try RecordText(parsing: text), base: nil)
    }

    /// - Parameter base: the record of the text's base version; `nil` for a full record.
    public init(_ text: RecordText, base: SessionRecord?) throws(RecordError) {
        let json = text.json
        let id = try json.id()
        version = try json.version("version")
        guard base?.version == text.baseVersion, base.map({ $0.id == id && !$0.isEnd }) ?? true else {
            throw .invalid(member: "base")
        }
        if let base {
            identity = base.identity
        } else {
            identity = try SessionIdentity(json, version: version)
        }
        time = try json.time("time")
        // Then every event was posted with it.
        if identity.tokens.count == 1 { identity.tokens[0].noteUse(at: time) }
        keptUntil = try json.time("keptUntil")
        isFull = base == nil
        content = try json["state"].map { state throws(RecordError) in
            try Content(json, state: state, completing: base?.content?.state)
        }
    }
}

extension SessionRecord.Content {
    /// - Parameter base: the state of the base version; `nil` for a full record.
    fileprivate init(_ json: JSON, state: JSON, completing base: JSON?) throws(RecordError) {
        var visible = json["visible"] ?? .null
        if let base {
            guard let full = try? NavigationState.completed(state, from: base) else { throw .invalid(member: "state") }
            self.state = full
            if let key = visible.string {
                guard let screen = NavigationState.screen(key, inSaved: full) else {
                    throw .invalid(member: "visible")
                }
                visible = screen
            }
        } else {
            self.state = state
        }
        note = TransitionNote(
            event: json["event"]?.string, visible: visible, operations: json["operations"] ?? [],
            finished: json["finished"] ?? [], dismissed: json["dismissed"] ?? [])
        expiresAt = try json.time("expiresAt")
    }
}

/// Reads records of one session, which may share a base version.
public struct RecordReader {
    private let id: SessionID
    private var bases: [Int: SessionRecord] = [:]

    public init(of id: SessionID) {
        self.id = id
    }

    /// - Parameters:
    ///   - version: the version that the record must have.
    ///   - text: the record's text.
    ///   - base: returns the text of a version's full record.
    /// - Throws: what is wrong with the record or that of its base version.
    public mutating func record(
        _ version: Int, _ text: [UInt8], base: (Int) -> [UInt8]?
    ) throws(RecordError) -> SessionRecord {
        let text = try RecordText(parsing: text)
        if let version = text.baseVersion, bases[version] == nil, let full = base(version) {
            bases[version] = try SessionRecord(parsing: full)
        }
        let record = try SessionRecord(text, base: text.baseVersion.flatMap { bases[$0] })
        guard record.id == id else { throw .invalid(member: "session") }
        guard record.version == version else { throw .invalid(member: "version") }
        return record
    }
}
