package import Coordinators
public import FoundationEssentials
internal import JSONCoding
public import Sodium

/// What rarely differs between the versions of a session: only its tokens and its user can change.
public final class SessionIdentity: Sendable {
    public let id: SessionID
    /// The name of its app.
    public let app: String
    /// At least one.
    public let tokens: [AccessToken]
    /// The digest of the first token, which most sessions have alone, so that it is found without the list.
    public let token: SHA256Digest
    /// The largest number that a token of the session ever had.
    let lastNumber: Int
    /// In whole seconds. A fork has its origin's, because it may not live longer.
    public let createdAt: Date
    /// The session that it was forked from.
    public let origin: SessionID?
    /// Who is signed in: the app's own name for the user, see `UserID`.
    public let user: String?
    /// How many of its devices say something of their own about themselves: so many drawings a state may have.
    let kindsOfDevices: Int
    /// Its members in a record's JSON text. Encoded once, because every full record contains them.
    let encodedMembers: [UInt8]
    /// The sum of the last uses that are in `encodedMembers`. They only grow.
    private let encodedUses: Int

    /// - Parameter tokens: at least one.
    init(
        id: SessionID, app: String, tokens: [AccessToken], lastNumber: Int? = nil, createdAt: Date,
        origin: SessionID? = nil, user: String? = nil
    ) {
        self.id = id
        self.app = app
        self.tokens = tokens
        self.token = tokens[0].digest
        let largestNumber = tokens.reduce(1) { max($0, $1.number) }
        self.lastNumber = max(lastNumber ?? 1, largestNumber)
        self.createdAt = createdAt
        self.origin = origin
        self.user = user
        self.encodedUses = SessionIdentity.uses(of: tokens)
        self.kindsOfDevices = tokens.indices.count(where: { at in
            !tokens[..<at].contains { $0.client == tokens[at].client && $0.role == tokens[at].role }
        })
        var writer = JSONWriter()
        writer.member("session", id.text)
        writer.member("app", app)
        let isPlain = tokens.count == 1 && tokens[0].needsNoList(inRecordOf: createdAt) && self.lastNumber == 1
        if isPlain { writer.member("token", tokens[0].digest.hex) }
        writer.member("createdAt", createdAt.milliseconds)
        writer.member("origin", ifAny: origin?.text)
        if !isPlain {
            writer.name("tokens")
            writer.array { writer in for token in tokens { token.write(to: &writer) } }
            writer.member("lastToken", ifAny: self.lastNumber > largestNumber ? self.lastNumber : nil)
        }
        writer.member("user", ifAny: user)
        self.encodedMembers = writer.bytes
    }
}

extension AccessToken {
    /// Whether a record need not have a list of tokens.
    fileprivate func needsNoList(inRecordOf session: Date) -> Bool {
        number == 1 && firstVersion == 1 && label == nil && client == nil && createdAt == session.bounded.wholeSeconds
    }
}

// Access.
extension SessionIdentity {
    /// Whether the token is one of the session's.
    func isOpen(to digest: SHA256Digest) -> Bool {
        token == digest || (tokens.count > 1 && access(of: digest) != nil)
    }

    /// - Returns: `nil` if the token is not one of the session's.
    public func access(of digest: SHA256Digest) -> AccessToken? {
        tokens.first { $0.digest == digest }
    }

    /// The device of a token; `nil` if the session's state has what its only device says about itself.
    package func device(of digest: SHA256Digest, in app: App) -> Device? {
        guard tokens.count > 1 || tokens[0].client != nil, let token = access(of: digest), let client = token.client
        else { return nil }
        return Device(token.number, label: token.label, role: app.role(token.role), client)
    }

    /// All devices.
    ///
    /// - Parameter state: has what the session's only device says about itself.
    package func devices(with state: NavigationState, in app: App) -> [Device] {
        tokens.map { token in
            device(of: token.digest, in: app)
                ?? Device(token.number, label: token.label, role: state.role, state.client)
        }
    }

    /// The first version that any of the tokens gives access to.
    public var firstVersion: Int { tokens.reduce(.max) { min($0, $1.firstVersion) } }
}

// Changes. A changed identity is another object, so that the next record is a full record.
extension SessionIdentity {
    private func with(_ tokens: [AccessToken]) -> SessionIdentity {
        SessionIdentity(
            id: id, app: app, tokens: tokens, lastNumber: lastNumber, createdAt: createdAt, origin: origin, user: user)
    }

    /// With another token in place of `digest`. No token gives access to versions before `version` any more.
    ///
    /// - Parameter endingOthers: whether the other tokens are removed.
    private func replacing(
        _ digest: SHA256Digest, with token: SHA256Digest, endingOthers: Bool, at now: Date, from version: Int
    ) -> SessionIdentity {
        let kept = endingOthers ? tokens.filter { $0.digest == digest } : tokens
        return with(kept.map { $0.with($0.digest == digest ? token : nil, at: now, from: version) })
    }

    /// After a transition.
    ///
    /// - Parameters:
    ///   - changes: the transition's.
    ///   - token: the new token of the client that posted the event, if the transition replaces it.
    ///   - caller: that client's token before.
    ///   - client: what the client says about itself after it.
    ///   - version: the transition's.
    /// - Returns: `nil` if nothing has changed.
    func after(
        _ changes: SessionChanges?, _ token: SessionToken?, for caller: SHA256Digest, client: ClientInfo, at now: Date,
        version: Int
    ) -> SessionIdentity? {
        var identity: SessionIdentity?
        if tokens.count > 1 || tokens[0].client != nil, let known = access(of: caller)?.client, known != client {
            identity = with(tokens.map { $0.digest == caller ? $0.with(client, role: $0.role) : $0 })
        }
        guard let changes else { return identity }
        if let rotation = changes.tokenRotation, let token {
            identity = (identity ?? self).replacing(
                caller, with: token.digest, endingOthers: rotation == .endingOthers, at: now, from: version)
        }
        return (identity ?? self).after(changes) ?? identity
    }

    /// After a transition in which no client gets a new token: who is signed in may have changed, and devices may have gone.
    ///
    /// - Returns: `nil` if nothing has changed.
    func after(_ changes: SessionChanges) -> SessionIdentity? {
        var identity: SessionIdentity?
        if let change = changes.userChange, change.user != user {
            identity = SessionIdentity(
                id: id, app: app, tokens: tokens, lastNumber: lastNumber, createdAt: createdAt, origin: origin,
                user: change.user)
        }
        for number in changes.revokedDevices { identity = (identity ?? self).revoking(number) ?? identity }
        return identity
    }

    /// With one more token, which gives access from `version` on.
    ///
    /// - Parameters:
    ///   - device: the new one.
    ///   - current: the state before, which has what the device that was the only one says about itself.
    func adding(
        _ token: SHA256Digest, of device: PairedDevice, beside current: NavigationState, from version: Int
    ) -> SessionIdentity {
        let added = AccessToken(
            number: device.number, token, label: device.label, createdAt: device.pairedAt, firstVersion: version,
            client: device.client, role: device.role?.name)
        return with(tokens.map { $0.client == nil ? $0.with(current.client, role: current.role?.name) : $0 } + [added])
    }

    /// That of a device to be added.
    var nextNumber: Int { lastNumber + 1 }

    /// Without the token of that number.
    ///
    /// - Returns: `nil` if it has none, or no other one.
    func revoking(_ number: Int) -> SessionIdentity? {
        let rest = tokens.filter { $0.number != number }
        return rest.isEmpty || rest.count == tokens.count ? nil : with(rest)
    }

    /// The same with the tokens' last uses, if it has several tokens and these are out of date.
    func withLastUses() -> SessionIdentity? {
        tokens.count > 1 && SessionIdentity.uses(of: tokens) != encodedUses ? with(tokens) : nil
    }

    private static func uses(of tokens: [AccessToken]) -> Int { tokens.reduce(0) { $0 + $1.lastUseSeconds } }
}

// In a record.
extension SessionIdentity {
    /// - Parameter version: the record's.
    convenience init(_ json: JSON, version: Int) throws(RecordError) {
        let createdAt = try json.time("createdAt")
        let tokens: [AccessToken]
        var lastNumber: Int?
        if let list = json["tokens"] {
            tokens = try (list.array ?? []).map { json throws(RecordError) in try AccessToken(json) }
            lastNumber = json["lastToken"] == nil ? nil : try json.version("lastToken")
            guard (1...AccessToken.limit).contains(tokens.count), Set(tokens.map(\.number)).count == tokens.count,
                Set(tokens.map(\.digest)).count == tokens.count
            else { throw .invalid(member: "tokens") }
        } else {
            tokens = [AccessToken(try json.digest("token"), createdAt: createdAt)]
        }
        guard tokens.allSatisfy({ (1...version).contains($0.firstVersion) }) else {
            throw .invalid(member: "firstVersion")
        }
        let user: String? = json["user"] == nil ? nil : try json.part("user")
        guard user.map(UserID.isValid) ?? true else { throw .invalid(member: "user") }
        self.init(
            id: try json.id(), app: try json.part("app"), tokens: tokens, lastNumber: lastNumber, createdAt: createdAt,
            origin: json["origin"] == nil ? nil : try json.id("origin"), user: user)
    }
}

extension SessionIdentity: Equatable {
    public static func == (left: SessionIdentity, right: SessionIdentity) -> Bool {
        left.id == right.id && left.app == right.app && left.tokens == right.tokens
            && left.lastNumber == right.lastNumber && left.createdAt == right.createdAt && left.origin == right.origin
            && left.user == right.user
    }
}

extension Date {
    /// Since 1970, as in records.
    package var milliseconds: Int {
        Int(exactly: (bounded.timeIntervalSince1970 * 1000).rounded()) ?? 0
    }

    package init(milliseconds: Int) {
        self = Date(timeIntervalSince1970: TimeInterval(milliseconds) / 1000).bounded
    }

    /// The nearest time that can be written: from 1970 to the year 9999, where RFC 3339 ends. The expiry of a session
    /// that never expires would be later.
    var bounded: Date {
        min(max(self, Date(timeIntervalSince1970: 0)), Date(timeIntervalSince1970: 253_402_300_799))
    }

    /// The last whole second.
    var wholeSeconds: Date {
        Date(timeIntervalSince1970: timeIntervalSince1970.rounded(.down))
    }
}
