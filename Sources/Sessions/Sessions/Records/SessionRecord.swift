// A version of a session, as it is written and read.
//
// A record is one line of JSON with stable names, which a person can read. Times are milliseconds since 1970.
//
//     {"session": "s_…", "app": "tabs", "token": "(SHA-256 in hexadecimal digits)", "createdAt": 1764500000000,
//      "origin": "s_…", "version": 7, "time": …, "keptUntil": …,
//      "expiresAt": …, "event": "item", "cause": "event", "operations": […], "finished": […], "dismissed": […],
//      "visible": {…}, "state": {…}}
//
// Only a fork has an `origin`. A session whose tokens have changed, or that has several, has a list instead of `token`,
// see `AccessToken`:
//
//     "tokens": [{"number": 3, "token": "…", "label": "TV", "createdAt": …, "usedAt": …, "firstVersion": 4}, …],
//     "lastToken": 5
//
// `lastToken` is the largest number that was ever given, if it is not that of a token in the list. `user` is who is
// signed in, if anybody is. `build` is the build of the program that made the version, if it is known; a delta record
// has that of its base. The record of a session's end has no members from `expiresAt` on, but
// `hasExpired` if the session had expired and was cleaned up. `state` is what `NavigationState.encoded` writes; while a
// session that is over is still cleaned up, it has a member `ended`, the reason, and its `pending` has what remains to be
// done.
//
// Most records are delta records: `base` is their base version, an earlier version with a full record, and they leave
// out what is the same there. They have none of the members from `app` to `origin`, nor `tokens`, `lastToken`, `user`
// and `build`. `visible` is a key, and `state` only names the parts that the base version's state has, too, see
// `SharedParts`.
//
//     {"session": "s_…", "version": 8, "base": 7, …, "visible": "k6", "state": {…, "coordinators": [1, 2, {…}], …}}

public import Coordinators
public import FoundationEssentials
public import JSONCoding
internal import Sodium

/// One version of a session, read from a store: the state, and the transition that led to it.
public struct SessionRecord: Sendable {
    struct Content: Sendable {
        let expiresAt: Date
        let note: TransitionNote
        /// As `NavigationState.encoded` writes it.
        let state: JSON
    }

    public let identity: SessionIdentity
    /// See `EncodedRecord`.
    public let version: Int
    /// When the version was made.
    public let time: Date
    /// When the session may be forgotten.
    public let keptUntil: Date
    /// Of the program that made the version, see `SessionSettings.build`; 0 if it is not known.
    let build: Int
    /// Whether it was read from a full record.
    private(set) var isFull = true
    /// Whether it is the end of a session that had expired.
    package private(set) var hasExpired = false
    /// `nil` for the session's end.
    let content: Content?

    public var id: SessionID { identity.id }

    /// The largest version of a session; one more does not overflow. No session gets there by counting.
    static let versionLimit = 1 << 53
    /// The largest version of an imported session, which leaves room for the versions after it.
    public static let importLimit = 1 << 52

    /// How deep a record may be nested. Tabs in tabs nest a saved state deeper than a request may be.
    static let depthLimit = 512

    /// As `NavigationState.encoded` writes it; `nil` for the session's end.
    package var savedState: JSON? { content?.state }

    /// Whether the session ended with this version.
    public var isEnd: Bool { content == nil }

    /// Why the session is over, if only its clean-ups remain; see `Coordinator.willBeRemoved`.
    public var ending: RemovalReason? { content?.state.savedEnd }

    /// Whether a server has yet to call `Coordinator.willBeRemoved` when the session is over.
    public var endsWithCleanUps: Bool { ending != nil || content?.state.savedEndsWithCleanUps == true }

    /// When the session expires unless it is used; `nil` once it has ended.
    public var expiresAt: Date? { content?.expiresAt }

    /// Whether the session has neither ended nor expired.
    func goesOn(at now: Date) -> Bool { content.map { $0.expiresAt > now } == true && ending == nil }

    /// The type of the event that led here; `nil` for the first version and the end.
    public var event: String? { note?.event }

    /// What goes on after this version without a request.
    public var pending: WakeEntry {
        content.map { WakeEntry(inSaved: $0.state, expiresAt: $0.expiresAt) } ?? .nothing
    }

    /// What the history shows of the transition; `nil` for the end.
    public var note: TransitionNote? { content?.note }

    /// The effects and timers of the state, each with the name of its coordinator. What cannot be read is left out: an
    /// imported record may contain anything.
    public var work: [(pending: PendingWork, coordinator: String)] {
        let living = content?.state["coordinators"]?.array ?? []
        return (content?.state["pending"]?.array ?? []).compactMap { saved in
            guard let work = try? PendingWork(json: saved) else { return nil }
            if let cleanUp = work.cleanUp { return (work, cleanUp.coordinator) }
            let name = living.first { $0["id"]?.integer == work.coordinator }?["name"]?.string
            return (work, name ?? "?")
        }
    }

    /// The same version as a full record.
    public var encoded: EncodedRecord { EncodedRecord(self) }
}

/// What the history shows of a transition: never a payload.
public struct TransitionNote: Sendable, Equatable {
    public let event: String?
    /// See `Transition.Cause`; `nil` where there is no event.
    public let cause: String?
    /// The screen that the user saw after it: key, name, title, parameters.
    public private(set) var visible = JSON.null
    public private(set) var operations: JSON = []
    public private(set) var finished: JSON = []
    public private(set) var dismissed: JSON = []
}

extension SessionRecord {
    /// Reads a record.
    ///
    /// - Parameter base: the record of the base version, if it is a delta record.
    /// - Throws: what is wrong with the text, for example that it has another base version.
    public init(parsing text: [UInt8], base: SessionRecord? = nil) throws(RecordError) {
        try self.init(try JSON(record: text), base: base)
    }

    fileprivate init(_ json: JSON, base: SessionRecord?) throws(RecordError) {
        let id = try json.id()
        version = try json.version("version")
        guard base?.version == (try json.base()), base.map({ $0.id == id && !$0.isEnd }) ?? true else {
            throw .invalid(member: "base")
        }
        if let base {
            identity = base.identity
        } else {
            identity = try SessionIdentity(json, version: version)
        }
        time = try json.time("time")
        // With a single token, every event was posted with that one.
        if identity.tokens.count == 1 { identity.tokens[0].noteUse(at: time) }
        keptUntil = try json.time("keptUntil")
        isFull = base == nil
        hasExpired = json["hasExpired"] == true
        build = base?.build ?? json["build"]?.integer ?? 0
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
            event: json["event"]?.string, cause: json["cause"]?.string, visible: visible,
            operations: json["operations"] ?? [],
            finished: json["finished"] ?? [], dismissed: json["dismissed"] ?? [])
        expiresAt = try json.time("expiresAt")
    }
}

/// Records of one session as a store has found them, before they are parsed.
public struct FoundRecords: Sendable {
    public let id: SessionID
    /// The texts of the versions that were asked for, newest first.
    public var wanted: [(version: Int, text: [UInt8])] = []
    /// The texts of the full records that are bases of wanted delta records, by version.
    public var bases: [Int: [UInt8]] = [:]

    public init(of id: SessionID) {
        self.id = id
    }

    /// Parses the wanted records.
    ///
    /// - Throws: `damaged`.
    public func records() throws(StoreError) -> [SessionRecord] {
        var parsedBases: [Int: SessionRecord] = [:]
        var records: [SessionRecord] = []
        for (version, text) in wanted {
            do throws(RecordError) {
                let json = try JSON(record: text)
                let base = try json.base()
                if let base, parsedBases[base] == nil, let text = bases[base] {
                    parsedBases[base] = try SessionRecord(parsing: text)
                }
                let record = try SessionRecord(json, base: base.flatMap { parsedBases[$0] })
                guard record.id == id else { throw .invalid(member: "session") }
                guard record.version == version else { throw .invalid(member: "version") }
                records.append(record)
            } catch {
                throw .damaged(reason: "version \(version) of \(id.text) is damaged: \(error)")
            }
        }
        return records
    }
}

/// Why a text is not a record.
public enum RecordError: Error, Equatable, Sendable {
    case notJSON
    /// The member is missing or has an invalid value.
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

// The members of records and answers.
extension JSON {
    init(record text: [UInt8]) throws(RecordError) {
        do { self = try JSON(parsing: text, maximumDepth: SessionRecord.depthLimit) } catch { throw .notJSON }
    }

    func part<Value: JSONReadable>(_ name: String) throws(RecordError) -> Value {
        do { return try member(name) } catch { throw .invalid(member: name) }
    }

    func version(_ name: String) throws(RecordError) -> Int {
        let version: Int = try part(name)
        guard (1...SessionRecord.versionLimit).contains(version) else { throw .invalid(member: name) }
        return version
    }

    /// The base version of a delta record; `nil` in a full record.
    fileprivate func base() throws(RecordError) -> Int? { self["base"] == nil ? nil : try version("base") }

    func time(_ name: String) throws(RecordError) -> Date {
        Date(milliseconds: try part(name))
    }

    func id(_ name: String = "session") throws(RecordError) -> SessionID {
        guard let id = SessionID(try part(name)) else { throw .invalid(member: name) }
        return id
    }

    func digest(_ name: String) throws(RecordError) -> SHA256Digest {
        guard let digest = SHA256Digest(hex: try part(name)) else { throw .invalid(member: name) }
        return digest
    }
}

/// Why a session cannot be returned to one of its versions.
public enum ReturnError: Error, Equatable, Sendable {
    /// The session has ended or expired.
    case over
    /// The version is not kept, or the session has it already.
    case unknownVersion
    /// The version was made before the session's token was replaced, see `Navigator.rotateToken`.
    case sealed
}

extension SessionRecord {
    /// The session's end, as the version after this one, its last.
    ///
    /// - Parameter lifetime: how long the end is kept, in seconds.
    /// - Returns: `nil` if it has ended or expired.
    public func end(
        at now: Date, keptFor lifetime: TimeInterval = SessionSettings().tombstoneLifetime
    ) -> EncodedRecord? {
        guard goesOn(at: now) else { return nil }
        return over(.ended, at: now)
            ?? EncodedRecord(endOf: identity, after: version, at: now, keptUntil: now + lifetime)
    }

    /// The version after this one of a session that is over and still has to be cleaned up. It is kept until that is done.
    ///
    /// - Returns: `nil` if nothing remains to be done.
    func over(_ reason: RemovalReason, at now: Date) -> EncodedRecord? {
        guard let content, content.state.savedEnd == nil, content.state.savedEndsWithCleanUps else { return nil }
        let expiresAt = min(content.expiresAt, now)
        return next(content.state.ended(reason, at: now), expiresAt: expiresAt, "end", at: now)
    }

    /// The version after this one, once a clean-up is done or given up: the session's end if it was the last one.
    ///
    /// - Returns: `nil` if the clean-up is over.
    func cleanedUp(_ number: Int, at now: Date, keptUntil: Date) -> EncodedRecord? {
        guard let content, let reason = ending, let state = content.state.cleanedUp(number) else { return nil }
        guard state["pending"] == [] else {
            return next(state, expiresAt: content.expiresAt, "willBeRemoved", at: now)
        }
        return EncodedRecord(
            endOf: identity, after: version, at: now, keptUntil: keptUntil, hasExpired: reason == .expired)
    }

    private func keptUntil(with state: JSON, expiresAt: Date) -> Date {
        if state.savedEndsWithCleanUps { return .keptForCleanUps }
        return keptUntil == .keptForCleanUps ? expiresAt + SessionSettings().tombstoneLifetime : keptUntil
    }

    /// A version of a session that is over.
    ///
    /// - Parameter event: what the history names it.
    private func next(_ state: JSON, expiresAt: Date, _ event: String, at now: Date) -> EncodedRecord {
        let note = TransitionNote(event: event, cause: Transition.Cause.effect.rawValue)
        return EncodedRecord(
            SessionRecord(
                identity: identity, version: version + 1, time: now, keptUntil: .keptForCleanUps, build: build,
                content: Content(expiresAt: expiresAt, note: note, state: state)))
    }

    /// A state as it is saved.
    init(_ state: SessionState, at time: Date, build: Int) {
        let saved = try? JSON(parsing: state.navigation.encoded, maximumDepth: SessionRecord.depthLimit)
        let note = TransitionNote(event: nil, cause: nil)
        self.init(
            identity: state.identity, version: state.version, time: time, keptUntil: .keptForCleanUps, build: build,
            content: Content(expiresAt: state.expiresAt, note: note, state: saved ?? [:]))
    }

    /// A version after this one, the session's last, with the state of an earlier one. Keys and ids that were given out
    /// since are not given out again.
    public func returning(to past: SessionRecord, at now: Date) throws(ReturnError) -> EncodedRecord {
        guard let last = content, goesOn(at: now) else { throw .over }
        guard let content = past.content, past.id == id, past.version < version else { throw .unknownVersion }
        guard past.version >= identity.firstVersion else { throw .sealed }
        var state = content.state
        for counter in ["lastKey", "lastID"] {
            state[counter] = .integer(max(state[counter]?.integer ?? 0, last.state[counter]?.integer ?? 0))
        }
        state.resetSavedWork(at: now, after: last.state)
        // The user has agreed to what came then, not now.
        state["agreement"] = nil
        let note = TransitionNote(
            event: BuiltInEvent.restoration, cause: Transition.Cause.event.rawValue, visible: content.note.visible)
        return EncodedRecord(
            SessionRecord(
                identity: identity, version: version + 1, time: now,
                keptUntil: keptUntil(with: state, expiresAt: last.expiresAt), build: past.build,
                content: Content(expiresAt: last.expiresAt, note: note, state: state)))
    }
}

extension Date {
    /// Until when a session is kept that is to be cleaned up, unless that is done before: for ever.
    static let keptForCleanUps = Date(timeIntervalSince1970: 253_402_300_799)
}
