public import Coordinators
internal import JSONCoding
public import Sodium

/// The first answer to a request with an `Idempotency-Key`, kept for replays of the request.
public struct StoredAnswer: Sendable, Equatable {
    public let session: SessionID
    /// The SHA-256 of the key, in hexadecimal digits, because the key of a creation itself gives access to the session.
    /// After `service:` if a service has sent the request, then of the service's name and the key.
    public let key: String
    /// Of the request that it answers.
    public let fingerprint: SHA256Digest
    /// Of the state that it shows.
    public let version: Int
    /// See `SessionState.drawing`.
    public let drawing: Int
    /// `nil` if it is no longer kept, see `Retention.answerBytes`.
    public private(set) var body: [UInt8]?
    /// The token that the event was posted with, if the event has replaced it.
    public let replacedToken: SHA256Digest?
    /// The pairing code that the event's client got; `nil` if it got none.
    public let pairing: GivenCode?
    /// The sessions that the event ends, until they have ended: a replay ends them before it returns the answer, because
    /// that may have failed the first time.
    public private(set) var endings: [SessionEnding]

    public init(
        session: SessionID, key: String, fingerprint: SHA256Digest, version: Int, drawing: Int = 0,
        body: [UInt8]?, replacedToken: SHA256Digest? = nil, pairing: GivenCode? = nil, endings: [SessionEnding] = []
    ) {
        self.session = session
        self.key = key
        self.fingerprint = fingerprint
        self.version = version
        self.drawing = drawing
        self.body = body
        self.replacedToken = replacedToken
        self.pairing = pairing
        self.endings = endings
    }
}

// A session keeps as many answers to its clients as to all services together: neither displace those of the others.
extension StoredAnswer {
    /// What the keys of services begin with; those of clients are hexadecimal digits.
    static let servicePrefix = "service:"

    public static func isOfService(_ key: String) -> Bool { key.utf8.starts(with: servicePrefix.utf8) }

    /// The newest answers of clients, and the newest ones of services, in the order of `answers`.
    ///
    /// - Parameter answers: newest first.
    public static func newest<Answer>(_ limit: Int, of answers: [Answer], key: (Answer) -> String) -> [Answer] {
        var (clients, services) = (0, 0)
        return answers.filter { answer in
            if isOfService(key(answer)) {
                services += 1
                return services <= limit
            }
            clients += 1
            return clients <= limit
        }
    }
}

// A client that gives an event up withdraws its key: it is kept like an answer, so that the event is refused if it
// arrives later.
extension StoredAnswer {
    /// No request has this fingerprint, because it is none of JSON.
    private static let withdrawn = SHA256Digest(of: "withdrawn")

    /// - Parameter state: the session's last one.
    static func withdrawal(of key: RequestKey, in state: SessionState) -> StoredAnswer {
        StoredAnswer(
            session: state.id, key: key.digest, fingerprint: withdrawn, version: state.version, body: nil)
    }

    /// Whether it answers no request: nothing was carried out under the key, and nothing will be.
    var isWithdrawal: Bool { fingerprint == StoredAnswer.withdrawn }
}

extension StoredAnswer {
    /// What is kept of the answer when its body is dropped.
    public var withoutBody: StoredAnswer {
        var answer = self
        answer.body = nil
        return answer
    }

    /// What is kept once the sessions that the event ends have ended.
    package var withoutEndings: StoredAnswer {
        var answer = self
        answer.endings = []
        return answer
    }
}

/// What is kept of a pairing code for replays: not the code itself, which is derived again.
public struct GivenCode: Sendable, Equatable {
    /// The token of the client that got it. No other one gets it on a replay.
    public let issuer: SHA256Digest
    public let expiresAt: Date

    public init(issuer: SHA256Digest, expiresAt: Date) {
        self.issuer = issuer
        self.expiresAt = expiresAt
    }
}

/// The `Idempotency-Key` of a request.
public struct RequestKey: Sendable {
    /// As it was sent.
    let text: String
    /// As it is kept, see `StoredAnswer.key`.
    let digest: String

    /// - Parameter service: the name of the service that has sent the request; `nil` if a client has. The same key is
    ///   another one for each.
    public init(_ text: String, of service: String? = nil) {
        self.text = text
        if let service {
            // A key has no line break, so no two services have the same text.
            digest = StoredAnswer.servicePrefix + SHA256Digest(of: "\(service)\n\(text)").hex
        } else {
            digest = SHA256Digest(of: text).hex
        }
    }

    /// The least length of a key that a token is derived from, in UTF-8 bytes: nobody else may guess such a key.
    public static let leastSecretBytes = 16

    /// The token that an event posted under the key gives the session; `nil` if the key might be guessed.
    func token(version: Int, of id: SessionID, secret: [UInt8]) -> SessionToken? {
        guard text.utf8.count >= RequestKey.leastSecretBytes else { return nil }
        return SessionToken(from: text, version: version, of: id, secret: secret)
    }

    /// The same token on a replay to a client that has the new token or the one that it replaced.
    ///
    /// - Parameter caller: the token that the client has.
    /// - Returns: `nil` if the event gave no token, or if that is no longer the session's.
    func token(
        replayedBy answer: StoredAnswer, to session: SessionIdentity, for caller: SHA256Digest, secret: [UInt8]
    ) -> SessionToken? {
        guard let replaced = answer.replacedToken,
            let token = token(version: answer.version, of: session.id, secret: secret),
            caller == replaced || caller == token.digest, session.isOpen(to: token.digest)
        else { return nil }
        return token
    }

    /// The pairing code that an event posted under the key gives its client; `nil` if the key might be guessed.
    func code(version: Int, of id: SessionID, secret: [UInt8]) -> PairingCode? {
        guard text.utf8.count >= RequestKey.leastSecretBytes else { return nil }
        return PairingCode(from: text, version: version, of: id, secret: secret)
    }

    /// The same code on a replay.
    ///
    /// - Parameter caller: the client's token, after the event.
    /// - Returns: `nil` if the event gave no code, or gave it to another client.
    func pairing(replayedBy answer: StoredAnswer, to caller: SHA256Digest, secret: [UInt8]) -> OpenPairing? {
        guard let given = answer.pairing, given.issuer == caller,
            let code = code(version: answer.version, of: answer.session, secret: secret)
        else { return nil }
        return OpenPairing(code: code, expiresAt: given.expiresAt)
    }
}

/// A request that is carried out once, however often it is sent.
public struct IdempotentRequest: Sendable {
    let key: RequestKey
    /// Distinguishes the request from others under the same key.
    let fingerprint: SHA256Digest
    /// Returns the body to answer and to keep: every replay gets it byte for byte.
    let answer: @Sendable (AppliedEvent) -> [UInt8]

    /// - Parameters:
    ///   - service: see `RequestKey`.
    ///   - request: what the fingerprint is made of, in one form for requests that mean the same.
    public init(
        key: String, of service: String? = nil, request: [UInt8],
        answer: @escaping @Sendable (AppliedEvent) -> [UInt8]
    ) {
        self.key = RequestKey(key, of: service)
        self.fingerprint = SHA256Digest(of: request)
        self.answer = answer
    }

    /// - Parameter caller: the token that the event was posted with; `nil` if the request is none of a device's.
    func stored(_ applied: AppliedEvent, for caller: SHA256Digest? = nil) -> StoredAnswer {
        let issuer = applied.token?.digest ?? caller
        return StoredAnswer(
            session: applied.state.id, key: key.digest, fingerprint: fingerprint, version: applied.state.version,
            drawing: applied.state.drawing, body: answer(applied), replacedToken: applied.token == nil ? nil : caller,
            pairing: applied.pairing.flatMap { pairing in
                issuer.map { GivenCode(issuer: $0, expiresAt: pairing.expiresAt) }
            }, endings: applied.transition.changes?.sessionEndings ?? [])
    }

    /// Checks that an answer kept under the key is the request's.
    func check(_ answer: StoredAnswer, _ measures: SessionMeasures) throws(SessionError) {
        guard !answer.isWithdrawal else { throw .keyWithdrawn }
        guard answer.fingerprint == fingerprint else {
            measures.count(.keyReused)
            throw .keyReused
        }
    }
}

/// The versions of a session that a request is meant for.
public enum VersionCondition: Sendable, Equatable {
    case any
    case oneOf(Set<VersionTag>)

    func holds(for version: VersionTag) -> Bool {
        switch self {
        case .any: true
        // Another build's state of the same version is the same state.
        case .oneOf(let versions): versions.contains(VersionTag(version.version, generation: version.generation))
        }
    }
}

/// Identifies a state of a session as clients see it. The version alone does not: after a shared store has lost
/// commits, its next generation has another version of that number, and one build may show differently what another has
/// made.
public struct VersionTag: Sendable, Hashable {
    public let version: Int
    public let generation: Int
    /// The build that shows the version, if another one has made it; 0 if not.
    public let build: Int

    public init(_ version: Int, generation: Int = 1, build: Int = 0) {
        self.version = version
        self.generation = generation
        self.build = build
    }

    /// Whether it is the next version after that one.
    public func follows(_ other: VersionTag) -> Bool {
        version == other.version + 1 && generation == other.generation
    }
}

/// The hashes of a session's last keys, as many as answers are kept. A key whose hash is not here counts as new: the
/// store is not asked.
struct AnsweredKeys {
    private var ofClients: Ring<Int>
    private var ofServices: Ring<Int>

    init(_ keys: [String], limit: Int) {
        ofClients = Ring(capacity: limit)
        ofServices = Ring(capacity: limit)
        for key in keys { insert(key) }
    }

    func mayContain(_ key: String) -> Bool {
        (StoredAnswer.isOfService(key) ? ofServices : ofClients).contains(key.hashValue)
    }

    mutating func insert(_ key: String) {
        if StoredAnswer.isOfService(key) {
            ofServices.append(key.hashValue)
        } else {
            ofClients.append(key.hashValue)
        }
    }
}

extension StoredAnswer {
    /// One line of JSON:
    /// `{"session", "key", "fingerprint", "version", "drawing"?, "replacedToken"?, "pairing"?, "endings"?, "body"?}`.
    public var encoded: [UInt8] {
        JSONWriter.bytes(capacity: 2 * (body?.count ?? 0) + 200) { writer in
            writer.object { writer in
                writer.member("session", session.text)
                writer.member("key", key)
                writer.member("fingerprint", fingerprint.hex)
                writer.member("version", version)
                writer.member("drawing", ifAny: drawing == 0 ? nil : drawing)
                writer.member("replacedToken", ifAny: replacedToken?.hex)
                if let pairing {
                    writer.name("pairing")
                    pairing.write(to: &writer)
                }
                if !endings.isEmpty {
                    writer.name("endings")
                    writer.array { writer in for ending in endings { ending.write(to: &writer) } }
                }
                writer.member("body", ifAny: body.map { String(decoding: $0, as: UTF8.self) })
            }
        }
    }

    /// The encoded text of `withoutBody`, cut out of the answer's encoded text, because parsing a long text takes long.
    /// JSON escapes quotes in strings, so the first match is the member `body`.
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
            drawing: json["drawing"] == nil ? 0 : try json.version("drawing"),
            body: json["body"] == nil ? nil : Array((try json.part("body") as String).utf8),
            replacedToken: json["replacedToken"] == nil ? nil : try json.digest("replacedToken"),
            pairing: try json["pairing"].map { json throws(RecordError) in try GivenCode(json) },
            endings: try (json["endings"]?.array ?? []).map { json throws(RecordError) in try SessionEnding(json) })
    }
}

/// `{"issuer", "expiresAt"}`
extension GivenCode {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("issuer", issuer.hex)
            writer.member("expiresAt", expiresAt.milliseconds)
        }
    }

    fileprivate init(_ json: JSON) throws(RecordError) {
        self.init(issuer: try json.digest("issuer"), expiresAt: try json.time("expiresAt"))
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
