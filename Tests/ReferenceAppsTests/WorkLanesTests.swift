import Dispatch
import Foundation
import Synchronization
import Testing

@testable import ReferenceApps

@Suite struct WorkLanesTests {
    @Test func `what finds neither lane nor place in the queue is turned away`() async {
        let lanes = WorkLanes(count: 1, waitingLimit: 2)
        let gate = DispatchSemaphore(value: 0)

        let taken = (0..<3).map { number in
            Task.immediate {
                await lanes.run {
                    gate.wait()
                    return number
                }
            }
        }
        let turnedAway = await lanes.run { 3 }
        for _ in taken { gate.signal() }
        var values: [Int?] = []
        for task in taken { values.append(await task.value) }
        let later = await lanes.run { 4 }

        #expect(turnedAway == nil)
        #expect(values == [0, 1, 2])
        #expect(later == 4)
    }

    @Test func `no more is computed at a time than there are lanes`() async {
        let lanes = WorkLanes(count: 2, waitingLimit: 100)
        let load = Load()

        await withTaskGroup { group in
            for _ in 0..<100 {
                group.addTask {
                    _ = await lanes.run {
                        load.begin()
                        for _ in 0..<1000 { _ = ContinuousClock.now }
                        load.end()
                    }
                }
            }
        }

        #expect((1...2).contains(load.most))
    }

    /// Shared threads would be missing wherever tasks have to go on.
    @Test func `no lane runs on a thread that tasks run on`() async {
        let lanes = WorkLanes(count: 4, waitingLimit: 0)
        var threadsOfLanes: Set<String?> = []
        var threadsOfTasks: Set<String?> = []

        for _ in 0..<500 {
            threadsOfLanes.insert(await lanes.run { thread() })
            threadsOfTasks.insert(await Task { thread() }.value)
        }

        #expect(threadsOfLanes.isDisjoint(with: threadsOfTasks))
    }
}

/// Names the thread that it is called on: its number is in this link.
private func thread() -> String {
    (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")) ?? "unknown"
}

/// What is being computed at a time, as the computations themselves tell.
private final class Load: Sendable {
    private let state = Mutex((now: 0, most: 0))

    var most: Int { state.withLock { $0.most } }

    func begin() {
        state.withLock { state in
            state.now += 1
            state.most = max(state.most, state.now)
        }
    }

    func end() { state.withLock { $0.now -= 1 } }
}
