public import FoundationEssentials
public import Sodium
internal import Synchronization

/// What a pairing code stands for.
public struct Pairing: Sendable {
    public let session: SessionID
    /// The token that asked for the code. The code is worthless once that token is.
    public let issuer: SHA256Digest
    /// What the other device is to be called.
    public let label: String?
    /// The name of the other device's role. Without it, the device may choose one that the issuer may give, and otherwise gets
    /// the issuer's.
    public let role: String?
    public let expiresAt: Date

    public init(session: SessionID, issuer: SHA256Digest, label: String?, role: String?, expiresAt: Date) {
        self.session = session
        self.issuer = issuer
        self.label = label
        self.role = role
        self.expiresAt = expiresAt
    }
}

/// Keeps what each pairing code stands for, by the code's digest, and limits how many codes are open and how many wrong
/// ones may be sent. Servers that share a store must share the codes and these limits, too.
public protocol PairingStore: Sendable {
    /// Opens a code, beside earlier ones of the same token. The same code may be opened again.
    ///
    /// - Throws: `tooManyCodes`.
    func open(_ code: SHA256Digest, for pairing: Pairing, at now: Date) async throws(SessionError)

    /// Closes the earlier codes of a token whose client gets this one. If that fails, they expire soon.
    func closeOthers(than code: SHA256Digest, of issuer: SHA256Digest) async

    /// Closes a code that nobody has got.
    func close(_ code: SHA256Digest) async

    /// What a code that somebody has sent stands for. A code that stands for nothing is counted as a wrong one.
    ///
    /// - Parameter key: the hashed `Idempotency-Key` of the request. A used code is found by the key that it was used
    ///   under, for a while.
    /// - Throws: `unknownCode`; `tooManyTries`, whether or not there is such an open code.
    func find(_ code: SHA256Digest, key: String?, at now: Date) async throws(SessionError) -> Pairing

    /// Marks an open code as used. Of all callers that have found it, one succeeds.
    ///
    /// - Returns: whether this caller is the one.
    func take(_ code: SHA256Digest, key: String?, at now: Date) async throws(SessionError) -> Bool

    /// Opens a code again that was marked as used, but whose request has failed.
    func giveBack(_ code: SHA256Digest) async
}

/// The pairing codes of one server. A restart forgets them.
final class PairingsInMemory: PairingStore {
    /// How many codes may be open.
    static let openLimit = 256
    /// How many wrong codes may be sent, by all clients together. With 2⁴⁰ codes, `openLimit` open ones and 4,200 wrong
    /// ones in an hour, a guess succeeds once in a million hours; see `docs/security.md`.
    static let wrongTries = (count: 70, seconds: 60)
    /// How many used codes are kept, and how long, for requests that are sent again.
    private static let (usedLimit, usedLifetime) = (4096, TimeInterval(600))

    private struct State {
        var open: [SHA256Digest: Pairing] = [:]
        var used: [SHA256Digest: Used] = [:]
        var wrong = RateLimit.Due()
    }

    private struct Used {
        let pairing: Pairing
        let key: String?
        let at: Date

        func isOver(at now: Date) -> Bool { at + usedLifetime <= now }
    }

    private let state = Mutex(State())
    private let wrongLimit = RateLimit(wrongTries.count, in: wrongTries.seconds)

    func open(_ code: SHA256Digest, for pairing: Pairing, at now: Date) throws(SessionError) {
        try state.withLock { state throws(SessionError) in
            if state.open.count >= PairingsInMemory.openLimit {
                state.open = state.open.filter { $0.value.expiresAt > now }
            }
            let others = state.open.count { $0.value.issuer != pairing.issuer }
            guard others < PairingsInMemory.openLimit else { throw .tooManyCodes }
            state.open[code] = pairing
        }
    }

    func closeOthers(than code: SHA256Digest, of issuer: SHA256Digest) {
        state.withLock { state in state.open = state.open.filter { $0.key == code || $0.value.issuer != issuer } }
    }

    func close(_ code: SHA256Digest) { state.withLock { _ = $0.open.removeValue(forKey: code) } }

    func find(_ code: SHA256Digest, key: String?, at now: Date) throws(SessionError) -> Pairing {
        try state.withLock { state throws(SessionError) in
            // No limit here: the key cannot be guessed.
            if let key, let used = state.used[code], used.key == key, !used.isOver(at: now) { return used.pairing }
            // Before the code is looked up, because otherwise guesses beyond the limit could succeed.
            if let wait = wrongLimit?.wait(state.wrong, at: now) { throw .tooManyTries(retryAfter: wait) }
            if let pairing = state.open[code], pairing.expiresAt > now { return pairing }
            _ = wrongLimit?.take(&state.wrong, at: now)
            throw .unknownCode
        }
    }

    func take(_ code: SHA256Digest, key: String?, at now: Date) -> Bool {
        state.withLock { state in
            guard let pairing = state.open.removeValue(forKey: code), pairing.expiresAt > now else { return false }
            if state.used.count >= PairingsInMemory.usedLimit {
                state.used = state.used.filter { !$0.value.isOver(at: now) }
            }
            // Beyond the limit, a request cannot be sent again if its answer was lost.
            if state.used.count < PairingsInMemory.usedLimit {
                state.used[code] = Used(pairing: pairing, key: key, at: now)
            }
            return true
        }
    }

    func giveBack(_ code: SHA256Digest) {
        state.withLock { state in
            guard let pairing = state.used.removeValue(forKey: code)?.pairing else { return }
            // The issuer may have opened another code meanwhile.
            guard !state.open.values.contains(where: { $0.issuer == pairing.issuer }) else { return }
            state.open[code] = pairing
        }
    }
}

/// What a user types on a second device, which then gets a token of its own for the session: 40 random bits as 8
/// characters of Crockford's base 32 (https://www.crockford.com/base32.html).
public struct PairingCode: Sendable {
    public let text: String

    static let length = 8
    private static let digits = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

    static func random() -> PairingCode { PairingCode(from: Sodium.randomBytes(length)) }

    /// The code that belongs to an event under a key: always the same, so that it can be returned again without being
    /// kept.
    init(from key: String, version: Int, of id: SessionID, secret: [UInt8]) {
        // No other digested text begins like this. The key comes last, because the client chooses it.
        self.init(from: KeyedDigest(of: "pairing code \(id.text) \(version) \(key)", key: secret).bytes)
    }

    private init(from bytes: [UInt8]) {
        // A byte has 256 values, 8 for each digit.
        self.init(valid: bytes.prefix(PairingCode.length).map { PairingCode.digits[Int($0 & 31)] })
    }

    /// A code as somebody has typed it: in either case, with O for 0 and I or L for 1, and with hyphens and
    /// spaces anywhere.
    ///
    /// - Returns: `nil` if the text cannot be a code.
    public init?(typed text: String) {
        var code: [UInt8] = []
        for byte in text.utf8 where byte != UInt8(ascii: "-") && byte != UInt8(ascii: " ") {
            let upper = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) ? byte & ~0x20 : byte
            let digit =
                switch upper {
                case UInt8(ascii: "O"): UInt8(ascii: "0")
                case UInt8(ascii: "I"), UInt8(ascii: "L"): UInt8(ascii: "1")
                default: upper
                }
            guard code.count < PairingCode.length, PairingCode.digits.contains(digit) else { return nil }
            code.append(digit)
        }
        guard code.count == PairingCode.length else { return nil }
        self.init(valid: code)
    }

    private init(valid code: [UInt8]) {
        text = String(decoding: code, as: UTF8.self)
    }

    /// What is stored instead of the code.
    func digest(_ secret: [UInt8]) -> SHA256Digest {
        SHA256Digest(of: KeyedDigest(of: "pairing \(text)", key: secret).bytes)
    }
}

extension PairingCode: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "•••" }
    public var debugDescription: String { "•••" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A code that was given out, and until when it can be used.
public struct OpenPairing: Sendable {
    /// In seconds.
    static let lifetime: TimeInterval = 120

    public let code: PairingCode
    public let expiresAt: Date
}
