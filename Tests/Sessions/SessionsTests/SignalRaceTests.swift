import Coordinators
import Foundation
import JSONCoding
import Sessions
import Testing
import TestSupport

/// Events, outcomes, timers and signals reach sessions at the same time, in any order, while sessions are evicted. A
/// checker that knows the order of the commits then looks at every version.
@Suite struct SignalRaceTests {
    @Test func `in whatever order they meet, each outcome and each timer counts once, and none after it is over`()
        async throws
    {
        let retention = Retention(versions: 100_000, versionBytes: 1 << 30)
        let jobs = JobsHost(on: MemoryStore(retention: retention), retention: retention) { $0.liveLimit = 8 }
        jobs.desk.falter(in: 7)
        let sessions = try await (0..<16).asyncMap { _ in try await jobs.session() }
        let operations = Scale.rounds(60, long: 1000)

        try await jobs.running {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for session in sessions {
                    for actor in 0..<3 {
                        group.addTask { try await Self.act(on: session.id, in: jobs, operations, seed: actor) }
                    }
                }
                try await group.waitForAll()
            }
            // Whatever happened before, each of these happens to some session.
            jobs.desk.hold()
            for session in sessions {
                for event in [PostedEvent("begin", payload: 1), PostedEvent("cancel", payload: 1)] {
                    try await Self.post(event, to: session.id, in: jobs)
                }
            }
            jobs.desk.release()
            let now: JSON = ["milliseconds": 0]
            for session in sessions {
                for event in [
                    PostedEvent("begin", payload: 2), PostedEvent("remind", payload: now),
                    PostedEvent("whenIdle", payload: now),
                ] { try await Self.post(event, to: session.id, in: jobs) }
            }
            try await eventually {
                for session in sessions {
                    guard try await jobs.host.sessionForOperator(session.id).pendingIDs.isEmpty else { return false }
                }
                return true
            }
        }
        var seen: Set<String> = []
        for session in sessions { try await Self.check(session.id, in: jobs, &seen) }
        #expect(seen.isSuperset(of: ["done", "reminded", "idle", "paid", "relaunch", "cancel", "begin"]))
        #expect(jobs.host.measures[.loaded] > 0)
        try await eventually { jobs.host.effectFigures == (0, 0) }
    }

    private static func act(on id: SessionID, in jobs: JobsHost, _ operations: Int, seed: Int) async throws {
        for number in 0..<operations {
            let session = try await jobs.host.sessionForOperator(id)
            let job = JSON.integer(.random(in: 1...4))
            do throws(SessionError) {
                switch Int.random(in: 0..<20) {
                case 0..<7: _ = try await session.apply(PostedEvent("begin", payload: job), if: nil)
                case 7..<11: _ = try await session.apply(PostedEvent("cancel", payload: job), if: nil)
                case 11..<13:
                    let delay: JSON = ["milliseconds": .integer(.random(in: 0...20))]
                    _ = try await session.apply(PostedEvent("remind", payload: delay), if: nil)
                case 13:
                    let delay: JSON = ["milliseconds": .integer(.random(in: 0...20))]
                    _ = try await session.apply(PostedEvent("whenIdle", payload: delay), if: nil)
                case 14: _ = try await session.apply(PostedEvent("cancelTimer"), if: nil)
                case 15..<17:
                    let once = IdempotentRequest(key: "\(seed)-\(number)", request: []) { _ in [] }
                    let paid = PostedEvent("paid", payload: ["reference": .string("\(seed)-\(number)")])
                    _ = try await jobs.host.receive(paid, for: id, once: once)
                case 17: _ = try await session.apply(PostedEvent("relaunch"), if: nil)
                default: try? await Task.sleep(for: .milliseconds(.random(in: 0...15)))
                }
            } catch {
                // An alert is shown because an effect has failed for good: it is answered.
                guard case .refused(.eventNotAccepted, _) = error else { throw error }
                _ = try? await session.apply(PostedEvent("answer", payload: ["button": "ok"]), if: nil)
            }
        }
    }

    /// Posts an event, also if an alert has to be answered before.
    private static func post(_ event: PostedEvent, to id: SessionID, in jobs: JobsHost) async throws {
        while true {
            let session = try await jobs.host.sessionForOperator(id)
            do throws(SessionError) {
                _ = try await session.apply(event, if: nil)
                return
            } catch {
                guard case .refused(.eventNotAccepted, _) = error else { throw error }
                _ = try? await session.apply(PostedEvent("answer", payload: ["button": "ok"]), if: nil)
            }
        }
    }

    /// Compares each version with the one before it.
    private static func check(_ id: SessionID, in jobs: JobsHost, _ seen: inout Set<String>) async throws {
        let session = try await jobs.host.sessionForOperator(id)
        let notes = try await session.history(limit: 100_000).reversed()
        #expect(notes.map(\.version) == Array(1...notes.count), "\(id)")
        var before: (pending: [PendingWork], log: [String]) = ([], [])
        for entry in notes {
            let state = try await session.past(entry.version).navigation
            let after = (
                pending: state.pending,
                log: state.screens[0].screen.params["log"]?.array?.compactMap(\.string) ?? []
            )
            let (event, cause) = (entry.note.event ?? "", entry.note.cause ?? "")
            seen.insert(event)
            let gone = before.pending.filter { work in !after.pending.contains { $0.number == work.number } }
            let new = after.pending.filter { work in !before.pending.contains { $0.number == work.number } }
            let added = after.log.starts(with: before.log) ? Array(after.log.dropFirst(before.log.count)) : ["changed"]
            let what = "\(id) \(entry.version) \(event) by \(cause): gone \(gone), new \(new), log \(added)"
            switch (cause, event) {
            case ("effect", "done"):
                #expect(gone.count == 1 && new.isEmpty && added == ["done \(gone[0].id.dropFirst(3))"], "\(what)")
                #expect(gone.first?.effect == "job", "\(what)")
            case ("effect", _): #expect(gone.count == 1 && new.isEmpty && added.isEmpty, "\(what)")
            case ("timer", _):
                #expect(gone.count == 1 && gone.first?.signal == event && new.isEmpty && added == [event], "\(what)")
                if let due = gone.first?.due { #expect(due <= entry.time.addingTimeInterval(0.001), "\(what)") }
            case ("signal", _): #expect(gone.isEmpty && new.isEmpty && added.count == 1, "\(what)")
            case ("event", "relaunch"): #expect(after.pending.isEmpty && after.log.isEmpty, "\(what)")
            case ("event", "cancel"), ("event", "cancelTimer"):
                #expect(new.isEmpty && gone.count <= 1 && added.isEmpty, "\(what)")
            case ("event", "begin"), ("event", "remind"), ("event", "whenIdle"):
                #expect(new.count == 1 && gone.count <= 1 && added.isEmpty, "\(what)")
                #expect(gone.allSatisfy { $0.id == new[0].id }, "\(what)")
            default: #expect(gone.isEmpty && new.isEmpty && added.isEmpty, "\(what)")
            }
            before = after
        }
        #expect(before.pending.isEmpty)
    }
}

extension Sequence {
    fileprivate func asyncMap<Value>(_ transform: (Element) async throws -> Value) async rethrows -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await transform(element)) }
        return values
    }
}
