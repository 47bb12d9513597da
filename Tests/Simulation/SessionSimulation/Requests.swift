import Coordinators
import Foundation
import JSONCoding
import Sessions
import Simulation
import Sodium

/// What somebody asks the host for. It can be sent again as it is.
enum Call: Sendable {
    case create(link: String?, ClientInfo, key: String?)
    case event(SessionID, token: String, PostedEvent, VersionCondition?, key: String?)
    case preview(SessionID, token: String, PostedEvent, VersionCondition?)
    case read(SessionID, token: String)
    case content(SessionID, token: String, key: String)
    case wait(SessionID, token: String, VersionTag, until: Int)
    case watch(SessionID, token: String)
    case withdraw(SessionID, token: String, key: String)
    case outcome(SessionID, token: String, key: String)
    case openPairing(SessionID, token: String, label: String?, role: String?)
    /// - Parameter role: the one that the device asks for.
    case pair(code: String, SessionID, ClientInfo, role: String?, key: String?)
    case revoke(SessionID, token: String, number: Int, VersionCondition?)
    case history(SessionID, token: String, from: Int?)
    case past(SessionID, token: String, Int)
    case fork(SessionID, token: String, Int?, key: String?)
    case end(SessionID, token: String, VersionCondition?)
    case signal(SessionID, PostedEvent, key: String)
    case signalUser(String, PostedEvent, key: String)

    /// The session that it is about; `nil` if there is none yet, or several.
    var session: SessionID? {
        switch self {
        case .create, .signalUser: nil
        case .event(let id, _, _, _, _), .preview(let id, _, _, _), .read(let id, _), .content(let id, _, _),
            .wait(let id, _, _, _), .watch(let id, _), .withdraw(let id, _, _), .outcome(let id, _, _),
            .openPairing(let id, _, _, _), .pair(_, let id, _, _, _), .revoke(let id, _, _, _), .history(let id, _, _),
            .past(let id, _, _), .fork(let id, _, _, _), .end(let id, _, _), .signal(let id, _, _):
            id
        }
    }

    /// The caller's token, by which it is let in.
    var token: String? {
        switch self {
        case .create, .signalUser, .signal, .pair: nil
        case .event(_, let token, _, _, _), .preview(_, let token, _, _), .read(_, let token),
            .content(_, let token, _), .wait(_, let token, _, _), .watch(_, let token), .withdraw(_, let token, _),
            .outcome(_, let token, _), .openPairing(_, let token, _, _), .revoke(_, let token, _, _),
            .history(_, let token, _), .past(_, let token, _), .fork(_, let token, _, _), .end(_, let token, _):
            token
        }
    }

    /// Its `Idempotency-Key`.
    var key: String? {
        switch self {
        case .create(_, _, let key), .event(_, _, _, _, let key), .pair(_, _, _, _, let key),
            .fork(_, _, _, let key):
            key
        case .signal(_, _, let key), .signalUser(_, _, let key): key
        default: nil
        }
    }

    /// How its key is kept.
    var keptKey: String? {
        guard let key else { return nil }
        return switch self {
        case .signal, .signalUser: "service:" + SHA256Digest(of: "desk\n\(key)").hex
        default: SHA256Digest(of: key).hex
        }
    }

    /// What its fingerprint is made of.
    private var body: [UInt8] {
        switch self {
        case .create(let link, _, _): Array("create \(link ?? "")".utf8)
        case .event(_, _, let event, _, _), .signal(_, let event, _), .signalUser(_, let event, _):
            Array("\(event.type) \(event.payload?.description ?? "") \(event.screen ?? "")".utf8)
        case .pair(let code, _, let client, let role, _):
            Array("pair \(code) \(client.platform ?? "") \(role ?? "")".utf8)
        case .fork(_, _, let version, _): Array("fork \(version ?? 0)".utf8)
        default: []
        }
    }

    var fingerprint: SHA256Digest { SHA256Digest(of: body) }

    var once: IdempotentRequest? {
        guard let key else { return nil }
        var service: String?
        switch self {
        case .signal, .signalUser: service = "desk"
        default: break
        }
        return IdempotentRequest(key: key, of: service, request: body) { Call.answer($0.state) }
    }

    /// The body that is kept of an answer.
    static func answer(_ state: SessionState) -> [UInt8] {
        Array("\(state.version) \(Digest.text(of: state.navigation.encoded))".utf8)
    }

    /// The same request with another body under the same key; `nil` if it has none.
    var altered: Call? {
        switch self {
        case .create(_, let client, let key?): .create(link: "/nowhere/altered", client, key: key)
        case .event(let id, let token, var event, let condition, let key?):
            {
                event.payload = ["altered": 1]
                return .event(id, token: token, event, condition, key: key)
            }()
        case .signal(let id, var event, let key):
            {
                event.payload = ["to": "altered", "script": 0]
                return .signal(id, event, key: key)
            }()
        default: nil
        }
    }
}

/// What the host has answered.
enum Response: Sendable {
    case outcome(Outcome)
    case created(CreatedSession)
    case state(SessionState)
    case preview(AppliedEvent)
    case history([HistoryEntry])
    case pairing(OpenPairing)
    case watching(Watch)
    case signals([(SessionID, Result<Outcome, SessionError>)])
    case content([UInt8], SessionState)
    /// Done; or no outcome is known.
    case nothing
    case failed(SessionError)

    var error: SessionError? { if case .failed(let error) = self { error } else { nil } }

    /// In the trace: without ids, and without numbers that no other run has.
    var word: String {
        switch self {
        case .outcome(let outcome): "\(outcome.isReplay ? "replayed" : "applied") \(outcome.version)"
        case .created(let created): "created \(created.outcome.isReplay ? "again" : "")"
        case .state(let state): "state \(state.version)"
        case .preview: "preview"
        case .history(let entries): "history \(entries.count)"
        case .pairing: "code"
        case .watching: "watching"
        case .signals(let outcomes): "signals \(outcomes.count)"
        case .content(let text, _): "content \(text.count)"
        case .nothing: "done"
        case .failed(let error): Response.word(of: error)
        }
    }

    static func word(of error: SessionError) -> String {
        switch error {
        case .refused(let error, _): "refused \(Oracle.word(error))"
        case .cannotLaunch(let error, _): "cannotLaunch \(Oracle.word(error))"
        default: "\(error)".prefix { $0 != "(" }.description
        }
    }
}

/// A request that was sent.
///
/// Unchecked: used on the walk's thread only.
final class Request: @unchecked Sendable {
    let number: Int
    let call: Call
    /// The version of its session when it was sent; 0 if there was none.
    let begin: Int
    var response: Response?

    init(_ number: Int, _ call: Call, begin: Int) {
        (self.number, self.call, self.begin) = (number, call, begin)
    }
}

extension SessionHost {
    func carryOut(_ call: Call, _ scheduler: Scheduler) async -> Response {
        do throws(SessionError) { return try await attempt(call, scheduler) } catch { return .failed(error) }
    }

    private func attempt(_ call: Call, _ scheduler: Scheduler) async throws(SessionError) -> Response {
        let once = call.once
        switch call {
        case .create(let link, let client, _):
            return .created(try await create(SessionRequest(link: link, client: client), once: once))
        case .event(let id, let token, let event, let condition, _):
            let session: AuthorizedSession
            do throws(SessionError) { session = try await self.session(id, token: token, isConfirmed: false) } catch {
                guard error == .unauthorized, let once else { throw error }
                return .outcome(try await answer(to: once, of: id, replacedToken: token))
            }
            return .outcome(try await session.apply(event, if: condition, once: once))
        case .preview(let id, let token, let event, let condition):
            return .preview(try await session(id, token: token).preview(event, if: condition))
        case .read(let id, let token): return .state(try await session(id, token: token).state())
        case .content(let id, let token, let key):
            let content = try await session(id, token: token).content(of: key)
            return .content(content.text, content.state)
        case .wait(let id, let token, let known, let end):
            let session = try await session(id, token: token)
            let (state, _) = try await session.state(after: known, within: .seconds(1_000_000)) {
                scheduler.time >= end
            }
            return .state(state)
        case .watch(let id, let token): return .watching(try await session(id, token: token).watch())
        case .withdraw(let id, let token, let key):
            return try await outcome(of: key, id, token) { (session, key) async throws(SessionError) in
                try await session.withdraw(key)
            }
        case .outcome(let id, let token, let key):
            return try await outcome(of: key, id, token) { (session, key) async throws(SessionError) in
                try await session.answer(to: key)
            }
        case .openPairing(let id, let token, let label, let role):
            return .pairing(try await session(id, token: token).openPairing(label: label, role: role))
        case .pair(let code, _, let client, let role, _):
            return .created(try await pair(code, label: "tv", role: role, client: client, once: once))
        case .revoke(let id, let token, let number, let condition):
            return .state(try await session(id, token: token).revokeToken(number, if: condition))
        case .history(let id, let token, let version):
            return .history(try await session(id, token: token).history(from: version, limit: 1000))
        case .past(let id, let token, let version):
            return .state(try await session(id, token: token).past(version))
        case .fork(let id, let token, let version, _):
            return .created(try await fork(try await session(id, token: token), version: version, once: once))
        case .end(let id, let token, let condition):
            try await session(id, token: token).end(if: condition)
            return .nothing
        case .signal(let id, let signal, _):
            guard let once else { return .nothing }
            return .outcome(try await receive(signal, for: id, once: once))
        case .signalUser(let user, let signal, _):
            guard let once else { return .nothing }
            return .signals(try await receive(signal, forUser: user, once: once).received)
        }
    }

    /// What a client learns that asks with its token, or with the one that its event has replaced.
    private func outcome(
        of key: String, _ id: SessionID, _ token: String,
        _ ask: (AuthorizedSession, RequestKey) async throws(SessionError) -> Outcome?
    ) async throws(SessionError) -> Response {
        let key = RequestKey(key)
        let session: AuthorizedSession
        do throws(SessionError) { session = try await self.session(id, token: token, isConfirmed: false) } catch {
            guard error == .unauthorized else { throw error }
            return .outcome(try await answer(to: key, of: id, replacedToken: token))
        }
        let outcome = try await ask(session, key)
        return outcome.map { .outcome($0) } ?? .nothing
    }
}

/// Fowler, Noll and Vo's hash, for traces.
enum Digest {
    static func text(of bytes: [UInt8]) -> String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return String(hash, radix: 16)
    }
}
