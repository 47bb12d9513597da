import Foundation
import Synchronization
import TestSupport

/// A session and what was acknowledged to the client that posts to it, however many read it meanwhile. What must not
/// happen is added to the faults of `findings`; nothing throws, because the attacks go on.
final class TrackedSession: Sendable {
    enum Kind: String {
        /// A small state, which shows the last event's number.
        case small = "numbers"
        /// A state of 60 KB; the answer to each event is as large.
        case large = "main"

        /// Each is a transition after the one before it.
        func event(_ number: Int) -> String {
            switch self {
            case .small: #"{"type":"update","payload":\#(number)}"#
            case .large:
                if number == 1 {
                    #"{"type":"button02Tapped","payload":"\#(String(repeating: "x", count: 60_000))"}"#
                } else {
                    number.isMultiple(of: 2) ? #"{"type":"button01Tapped","payload":3}"# : #"{"type":"back"}"#
                }
            }
        }
    }

    /// What became of a request.
    enum Outcome: Equatable {
        case done
        /// It is unknown what has happened, or nothing has: to be tried again.
        case open
        /// Its data is damaged.
        case damaged
        /// It has ended or expired.
        case over
    }

    private struct State {
        /// The number of the last event that was acknowledged.
        var number = 0
        var answer: [UInt8] = []
        /// Whether the next event was sent.
        var isPending = false
        var expiresAt: Date
        var isOver = false
        var isAside = false
    }

    let id: String
    let token: String
    private let kind: Kind
    private let findings: Findings
    private let state: Mutex<State>

    init?(_ client: BlockingClient, _ kind: Kind, _ findings: Findings) {
        let reply = client.call("POST", "/v1/sessions", body: #"{"app":"\#(kind.rawValue)"}"#)
        guard let reply, reply.status == 201, let id = reply.member("id"), let token = reply.member("token"),
            let expiresAt = reply.expiresAt
        else {
            findings.refusal("a creation: \(reply?.text ?? "cut")", client)
            return nil
        }
        (self.kind, self.id, self.token, self.findings) = (kind, id, token, findings)
        state = Mutex(State(expiresAt: expiresAt))
    }

    var path: String { "/v1/sessions/\(id)" }
    var isOver: Bool { state.withLock { $0.isOver } }
    var isAside: Bool { state.withLock { $0.isAside } }

    // Each event adds one version; version 1 is there before the first event.
    private static func version(after number: Int) -> Int { number + 1 }

    /// Posts the next event, or the last one under the same key if it had no answer. For one thread at a time.
    func post(_ client: BlockingClient) -> Outcome {
        let number = state.withLock { state in
            state.isPending = true
            return state.number + 1
        }
        let (outcome, reply) = post(number, client)
        guard outcome == .done, let reply else { return outcome }
        let version = reply.version ?? 0
        let expected = TrackedSession.version(after: number)
        if version != expected {
            let what = version < expected ? "acknowledged events are lost" : "applied twice"
            findings.fault("\(what): \(id) has version \(version), not \(expected)")
        }
        findings.add(.events)
        state.withLock { state in
            state.number = number
            state.answer = reply.body
            state.isPending = false
            state.expiresAt = reply.expiresAt ?? state.expiresAt
        }
        return .done
    }

    /// Posts the pending event again, if there is one.
    func finishPending(_ client: BlockingClient) -> Outcome {
        state.withLock { $0.isPending } ? post(client) : .done
    }

    /// Sends the last event that was acknowledged once more.
    func postAgain(_ client: BlockingClient) -> Outcome {
        let (number, answer) = state.withLock { ($0.number, $0.answer) }
        guard number > 0 else { return .done }
        let (outcome, reply) = post(number, client)
        guard outcome == .done, let reply else { return outcome }
        findings.add(.replays)
        if !reply.isReplay { findings.fault("applied twice: event \(number) of \(id) was not known") }
        if reply.body != answer { findings.fault("\(id) has another answer to event \(number)") }
        return .done
    }

    private func post(_ number: Int, _ client: BlockingClient) -> (Outcome, Reply?) {
        let expiresAt = state.withLock { $0.expiresAt }
        let reply = client.call("POST", "\(path)/events", token: token, key: "key-\(number)", body: kind.event(number))
        return (outcome(of: reply, client, expiresAt: expiresAt), reply)
    }

    /// Reads the state, which may change meanwhile.
    func read(_ client: BlockingClient) -> Outcome {
        let before = state.withLock { $0 }
        let offset = findings.clock.offset
        let earliest = Date(timeIntervalSinceNow: TimeInterval(offset))
        let reply = client.call("GET", path, token: token)
        let outcome = outcome(of: reply, client, expiresAt: before.expiresAt)
        let after = state.withLock { $0 }
        guard outcome == .done, let version = reply?.version else { return outcome }
        findings.add(.reads)
        if before.isOver { findings.fault("resurrected: \(id) was over, and answers with version \(version)") }
        let newest = TrackedSession.version(after: after.number) + (after.isPending || before.isPending ? 1 : 0)
        if version < TrackedSession.version(after: before.number) {
            findings.fault("a read is older than an answer before: \(id) has \(version), not \(before.number + 1)")
        } else if version > newest {
            findings.fault("applied twice: \(id) has version \(version), not \(newest)")
        }
        if kind == .small, reply?.number ?? 0 != version - 1 {
            findings.fault("\(id) shows \(reply?.number ?? 0) in version \(version)")
        }
        // Only if neither an event nor the clock has changed it meanwhile.
        let isUnchanged = before.number == after.number && !before.isPending && !after.isPending
        if isUnchanged, findings.clock.offset == offset, earliest > before.expiresAt.addingTimeInterval(2) {
            findings.fault("\(id) lives \(earliest.timeIntervalSince(before.expiresAt)) seconds too long")
        }
        return .done
    }

    /// Checks that the last versions are listed without a gap. Nobody may post meanwhile.
    func readHistory(_ client: BlockingClient) -> Outcome {
        let (number, expiresAt) = state.withLock { ($0.number, $0.expiresAt) }
        let reply = client.call("GET", "\(path)/history?limit=10", token: token)
        let outcome = outcome(of: reply, client, expiresAt: expiresAt)
        guard outcome == .done, let reply else { return outcome }
        let listed = reply.text.matches(of: /"version":(\d+),"time"/).compactMap { Int($0.output.1) }
        let newest = Array((1...TrackedSession.version(after: number)).reversed().prefix(10))
        // A page of a large session ends earlier.
        let expected = kind == .large && !listed.isEmpty ? Array(newest.prefix(listed.count)) : newest
        if listed != expected { findings.fault("versions have gaps: \(id) lists \(listed), not \(expected)") }
        return .done
    }

    /// Judges the reply to `DELETE`, which is to be sent again if the outcome is open.
    func end(_ reply: Reply?, _ client: BlockingClient) -> Outcome {
        let expiresAt = state.withLock { $0.expiresAt }
        guard reply?.status == 204 else {
            // An earlier try may have ended it.
            if reply?.status == 410 { return over() }
            return outcome(of: reply, client, expiresAt: expiresAt)
        }
        findings.add(.ended)
        return over()
    }

    private func over() -> Outcome {
        state.withLock { $0.isOver = true }
        return .over
    }

    private func outcome(of reply: Reply?, _ client: BlockingClient, expiresAt: Date) -> Outcome {
        switch reply?.status {
        case 200:
            state.withLock { $0.isAside = false }
            return .done
        case 503 where reply?.text.contains("session-damaged") == true:
            let isNew = state.withLock { state in
                defer { state.isAside = true }
                return !state.isAside
            }
            if isNew { findings.add(.putAside) }
            return .damaged
        case 401, 410:
            let wasOver = state.withLock { state in
                defer { state.isOver = true }
                return state.isOver
            }
            if wasOver { return .over }
            if findings.clock.latest < expiresAt.addingTimeInterval(-2) {
                findings.fault("swept early: \(id) lives until \(expiresAt), and answers \(reply?.text ?? "")")
            }
            findings.add(.expired)
            return .over
        case 503 where reply?.text.contains("the disk has not completed a write") == true:
            return .open
        case nil, 503:
            findings.refusal("\(id): \(reply?.text ?? "cut")", client)
            return .open
        default:
            findings.fault("\(id) answers \(reply?.text ?? "")")
            return .open
        }
    }
}

extension Reply {
    fileprivate var expiresAt: Date? { member("expiresAt").flatMap { try? Date($0, strategy: .iso8601) } }

    /// What the screen of `numbers` shows.
    fileprivate var number: Int? { integer("value") }
}
