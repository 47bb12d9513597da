public import FoundationEssentials
internal import JSONCoding
public import Sodium

/// What is the same in every version of a session; only the token changes if the app replaces it.
public final class SessionIdentity: Sendable {
    public let id: SessionID
    /// The name of its app.
    public let app: String
    public let token: SHA256Digest
    /// In whole seconds. A fork has its origin's, because it may not live longer.
    public let createdAt: Date
    /// The session that it was forked from.
    public let origin: SessionID?
    /// The first version that the token gives access to: earlier ones were made before the token was replaced.
    public let firstVersion: Int
    /// Its members in a record's JSON text. Encoded once, because every full record contains them.
    let encodedMembers: [UInt8]

    public init(
        id: SessionID, app: String, token: SHA256Digest, createdAt: Date, origin: SessionID? = nil,
        firstVersion: Int = 1
    ) {
        self.id = id
        self.app = app
        self.token = token
        self.createdAt = createdAt
        self.origin = origin
        self.firstVersion = firstVersion
        var writer = JSONWriter()
        writer.member("session", id.text)
        writer.member("app", app)
        writer.member("token", token.hex)
        writer.member("createdAt", createdAt.milliseconds)
        writer.member("origin", ifAny: origin?.text)
        writer.member("firstVersion", ifAny: firstVersion > 1 ? firstVersion : nil)
        self.encodedMembers = writer.bytes
    }
}

extension SessionIdentity {
    /// The same session with another token, which gives no access to versions before `version`.
    func with(_ token: SessionToken, from version: Int) -> SessionIdentity {
        SessionIdentity(
            id: id, app: app, token: token.digest, createdAt: createdAt, origin: origin, firstVersion: version)
    }
}

extension SessionIdentity: Equatable {
    public static func == (left: SessionIdentity, right: SessionIdentity) -> Bool {
        left.id == right.id && left.app == right.app && left.token == right.token && left.createdAt == right.createdAt
            && left.origin == right.origin && left.firstVersion == right.firstVersion
    }
}

extension Date {
    /// Since 1970, as in records.
    var milliseconds: Int {
        Int(exactly: (bounded.timeIntervalSince1970 * 1000).rounded()) ?? 0
    }

    init(milliseconds: Int) {
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
