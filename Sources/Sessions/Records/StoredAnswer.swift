internal import Coordinators
public import Sodium

/// The first answer to a request with an `Idempotency-Key`, kept so that the request can come again.
public struct StoredAnswer: Sendable, Equatable {
    public let session: SessionID
    /// The SHA-256 of the key, in hexadecimal digits: the key of a creation gives the right to the session.
    public let key: String
    /// Of the request that it answers.
    public let fingerprint: SHA256Digest
    /// Of the state that it shows.
    public let version: Int
    /// `nil` where it is not kept any more, see `Retention.answerBytes`.
    public let body: [UInt8]?
    /// The token that the event was posted with, where the event has replaced it.
    public let replacedToken: SHA256Digest?

    public init(
        session: SessionID, key: String, fingerprint: SHA256Digest, version: Int, body: [UInt8]?,
        replacedToken: SHA256Digest? = nil
    ) {
        self.session = session
        self.key = key
        self.fingerprint = fingerprint
        self.version = version
        self.body = body
        self.replacedToken = replacedToken
    }
}

extension StoredAnswer {
    /// What stays of it when its body goes.
    public var withoutBody: StoredAnswer {
        StoredAnswer(
            session: session, key: key, fingerprint: fingerprint, version: version, body: nil,
            replacedToken: replacedToken)
    }
}

/// A request that is carried out once, however often it comes.
public struct IdempotentRequest: Sendable {
    /// As it was sent.
    let secretKey: String
    /// As it is kept.
    let key: String
    /// Tells it from another request under the same key.
    let fingerprint: SHA256Digest
    /// What is answered, to be kept: byte for byte what every repetition gets.
    let answer: @Sendable (AppliedEvent) -> [UInt8]

    /// - Parameter request: what makes it this request and no other.
    public init(key: String, request: [UInt8], answer: @escaping @Sendable (AppliedEvent) -> [UInt8]) {
        self.secretKey = key
        self.key = SHA256Digest(of: key).hex
        self.fingerprint = SHA256Digest(of: request)
        self.answer = answer
    }

    func stored(_ applied: AppliedEvent, replacedToken: SHA256Digest? = nil) -> StoredAnswer {
        StoredAnswer(
            session: applied.state.id, key: key, fingerprint: fingerprint, version: applied.state.version,
            body: answer(applied), replacedToken: replacedToken)
    }

    /// What a key must have that tells a token: it must not be one that somebody else may come upon.
    public static let leastTellingCharacters = 16

    /// The token that an event posted under the key gives the session; `nil` where the key might be guessed.
    func token(version: Int, of id: SessionID, secret: [UInt8]) -> SessionToken? {
        guard secretKey.utf8.count >= IdempotentRequest.leastTellingCharacters else { return nil }
        return SessionToken(from: secretKey, version: version, of: id, secret: secret)
    }

    /// The same, to be told again; `nil` where it is not the session's any more.
    func token(toldBy answer: StoredAnswer, to session: SessionIdentity, secret: [UInt8]) -> SessionToken? {
        guard answer.replacedToken != nil,
            let token = token(version: answer.version, of: session.id, secret: secret), token.digest == session.token
        else { return nil }
        return token
    }
}

/// What a request was about, to be compared with what is there.
public enum VersionCondition: Sendable, Equatable {
    case any
    case oneOf(Set<Int>)

    func holds(for version: Int) -> Bool {
        switch self {
        case .any: true
        case .oneOf(let versions): versions.contains(version)
        }
    }
}

/// The keys of a session whose answers are kept: the last ones, by their hashes. A hash that is not here tells that a
/// request is new without asking the store.
struct AnsweredKeys {
    private var hashes: Ring<Int>

    init(_ keys: [String], limit: Int) {
        hashes = Ring(capacity: limit)
        for key in keys { insert(key) }
    }

    func mayContain(_ key: String) -> Bool { hashes.contains(key.hashValue) }

    mutating func insert(_ key: String) { hashes.append(key.hashValue) }
}
