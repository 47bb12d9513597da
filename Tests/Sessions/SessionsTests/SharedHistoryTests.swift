import Coordinators
import Foundation
import Sessions
import Synchronization
import Testing

/// What clients saw of one session, and in what order: checked for anything that one server alone could not have done.
struct SharedHistory {
    struct Entry {
        enum Kind: Equatable {
            /// An event with that number was applied.
            case applied(Int)
            case read
            /// It is not known whether the event was applied.
            case unknown(Int)
        }

        let kind: Kind
        /// 0 if unknown.
        let version: Int
        let start: ContinuousClock.Instant
        let end: ContinuousClock.Instant
    }

    var entries: [Entry] = []

    /// - Parameter passed: the numbers of the applied events in the last state.
    func check(against passed: [Int], version last: Int) -> [String] {
        var faults: [String] = []
        let versions = entries.filter { if case .applied = $0.kind { true } else { false } }.map(\.version)
        if Set(versions).count != versions.count { faults.append("two events made one version") }
        let acknowledged = entries.compactMap { if case .applied(let number) = $0.kind { number } else { nil } }
        let unknown = entries.compactMap { if case .unknown(let number) = $0.kind { number } else { nil } }
        if Set(passed).count != passed.count { faults.append("an event was applied twice") }
        let lost = Set(acknowledged).subtracting(passed)
        if !lost.isEmpty { faults.append("\(lost.count) acknowledged events are lost") }
        let invented = Set(passed).subtracting(acknowledged).subtracting(unknown)
        if !invented.isEmpty { faults.append("\(invented.count) refused events were applied") }
        if last != passed.count + 1 { faults.append("version \(last) after \(passed.count) events") }
        // What ended before another began comes before it.
        let known = entries.filter { $0.version > 0 }.sorted { $0.start < $1.start }
        let byEnd = known.sorted { $0.end < $1.end }
        var newest = 0
        var ended = 0
        for entry in known {
            while ended < byEnd.count, byEnd[ended].end < entry.start {
                newest = max(newest, byEnd[ended].version)
                ended += 1
            }
            let isMade = if case .applied = entry.kind { true } else { false }
            if entry.version < newest || isMade && entry.version == newest {
                faults.append("\(entry.kind) shows version \(entry.version) after \(newest) was seen")
            }
        }
        return faults
    }
}

/// Makes requests and records what came of them.
private final class Recorder: Sendable {
    let sessions: [CreatedSession]
    let histories: Mutex<[SharedHistory]>
    private let numbers = Atomic(0)

    init(_ sessions: [CreatedSession]) {
        self.sessions = sessions
        histories = Mutex(sessions.map { _ in SharedHistory() })
    }

    func step(_ index: Int, on hosts: [SessionHost]) async {
        let number = numbers.add(1, ordering: .relaxed).newValue
        let isRead = Int.random(in: 0..<3) == 0
        let start = ContinuousClock.now
        do {
            let session = try await hosts[Int.random(in: hosts.indices)].session(
                sessions[index].id, token: sessions[index].token.text, isConfirmed: isRead)
            let event = PostedEvent("pass", payload: .integer(number))
            let version = isRead ? try session.state().version : try await session.apply(event).state.version
            let entry = SharedHistory.Entry(
                kind: isRead ? .read : .applied(number), version: version, start: start, end: .now)
            histories.withLock { $0[index].entries.append(entry) }
        } catch SessionError.notApplied {
        } catch {
            Issue.record("\(error)")
        }
    }
}

@Suite struct SharedHistoryTests {
    static func create(_ count: Int, on host: SessionHost) async -> [CreatedSession] {
        var sessions: [CreatedSession] = []
        // The store refuses some.
        while sessions.count < count { if let created = try? await host.create() { sessions.append(created) } }
        return sessions
    }

    @Test func `three servers on one store are as one`() async throws {
        let store = SlowSharedStore { Int.random(in: 0..<20) == 0 }
        let hosts = (0..<3).map { _ in
            var settings = SessionSettings.unhurried
            // Sessions come and go in memory, too.
            settings.liveLimit = 2
            return SessionHost(apps: [SessionHostTests.app], store: store, settings: settings)
        }
        let sessions = await SharedHistoryTests.create(4, on: hosts[0])
        let recorder = Recorder(sessions)
        await withTaskGroup { group in
            for client in 0..<12 {
                group.addTask {
                    for step in 0..<60 { await recorder.step((client + step / 7) % sessions.count, on: hosts) }
                }
            }
        }
        for (index, created) in sessions.enumerated() {
            let state = try await hosts[index % 3].session(created.id, token: created.token.text).state()
            let history = recorder.histories.withLock { $0[index] }
            #expect(history.entries.count > 100)
            #expect(history.check(against: SessionHostTests.passed(state), version: state.version) == [])
        }
    }
}
