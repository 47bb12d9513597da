public import FoundationEssentials
internal import JSONCoding
public import Sodium

/// What of a session stays the same from version to version; its token, unless the app gives it another one.
public final class SessionIdentity: Sendable {
    public let id: SessionID
    /// The name of its app.
    public let app: String
    public let token: SHA256Digest
    public var origin: SessionID? { nil }
    /// In whole seconds.
    public let createdAt: Date
    /// Its members in a record's JSON text. Made once, for they are written with every version.
    let encodedMembers: [UInt8]

    public init(id: SessionID, app: String, token: SHA256Digest, createdAt: Date) {
        self.id = id
        self.app = app
        self.token = token
        self.createdAt = createdAt
        var writer = JSONWriter()
        writer.member("session", id.text)
        writer.member("app", app)
        writer.member("token", token.hex)
        writer.member("createdAt", createdAt.milliseconds)
        self.encodedMembers = writer.bytes
    }
}

extension SessionIdentity {
    func with(_ token: SessionToken) -> SessionIdentity {
        SessionIdentity(id: id, app: app, token: token.digest, createdAt: createdAt)
    }
}

extension SessionIdentity: Equatable {
    public static func == (left: SessionIdentity, right: SessionIdentity) -> Bool {
        left.id == right.id && left.app == right.app && left.token == right.token && left.createdAt == right.createdAt
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
