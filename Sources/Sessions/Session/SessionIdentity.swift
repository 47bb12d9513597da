public import FoundationEssentials
internal import JSONCoding
public import Sodium

/// What of a session stays the same from version to version; its token, unless the app gives it another one.
public final class SessionIdentity: Sendable {
    public let id: SessionID
    /// The name of its app.
    public let app: String
    public let token: SHA256Digest
    /// In whole seconds. A fork's is its origin's, for it may not live longer.
    public let createdAt: Date
    /// The session that it was forked from.
    public let origin: SessionID?
    /// The first version that the token gives a right to: those before were made before the token was replaced.
    public let firstVersion: Int
    /// Its members in a record's JSON text. Made once, for they are written with every version.
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
    /// The same session with another token, which gives no right to the versions before that one.
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
    /// Since 1970, as records tell times.
    var milliseconds: Int {
        Int(exactly: (bounded.timeIntervalSince1970 * 1000).rounded()) ?? 0
    }

    init(milliseconds: Int) {
        self = Date(timeIntervalSince1970: TimeInterval(milliseconds) / 1000).bounded
    }

    /// The nearest time that can be told: from 1970 to the year 9999, where RFC 3339 ends. A session that never expires has
    /// a later one.
    var bounded: Date {
        min(max(self, Date(timeIntervalSince1970: 0)), Date(timeIntervalSince1970: 253_402_300_799))
    }

    /// The last whole second.
    var wholeSeconds: Date {
        Date(timeIntervalSince1970: timeIntervalSince1970.rounded(.down))
    }
}
