import Dispatch
import Foundation
import Synchronization
import Testing

@testable import ReferenceApps

@Suite struct WorkLanesTests {
    @Test func `work that finds neither a lane nor room in the queue is refused`() async {
        let lanes = WorkLanes<Int>(count: 1, waitingLimit: 2)
        let gate = DispatchSemaphore(value: 0)

        let accepted = (0..<3).map { number in
            Task.immediate {
                await lanes.run(for: 1) {
                    gate.wait()
                    return number
                }
            }
        }
        let refused = await lanes.run(for: 1) { 3 }
        for _ in accepted { gate.signal() }
        var values: [Int?] = []
        for task in accepted { values.append(await task.value) }
        let later = await lanes.run(for: 1) { 4 }

        #expect(refused == nil)
        #expect(values == [0, 1, 2])
        #expect(later == 4)
    }

    @Test func `no more is computed at a time than there are lanes`() async {
        let lanes = WorkLanes<Int>(count: 2, waitingLimit: 100)
        let load = Load()

        await withTaskGroup { group in
            for _ in 0..<100 {
                group.addTask {
                    _ = await lanes.run(for: 1) {
                        load.begin()
                        for _ in 0..<1000 { _ = ContinuousClock.now }
                        load.end()
                    }
                }
            }
        }

        #expect((1...2).contains(load.most))
    }

    @Test func `a client with much work waiting gives way to one with none`() async {
        let lanes = WorkLanes<Int>(count: 1, waitingLimit: 3)
        let gate = DispatchSemaphore(value: 0)
        let order = Order()
        func start(_ name: String, for client: Int) -> Task<Bool, Never> {
            Task.immediate { @Sendable in
                let outcome: Void? = await lanes.run(for: client) {
                    gate.wait()
                    order.note(name)
                }
                return outcome != nil
            }
        }

        let greedy = (0..<4).map { start("greedy \($0)", for: 1) }
        let modest = start("modest", for: 2)
        for _ in 0..<4 { gate.signal() }

        #expect(await modest.value)
        var isAccepted: [Bool] = []
        for task in greedy { isAccepted.append(await task.value) }
        #expect(isAccepted == [true, true, true, false])
        #expect(order.names == ["greedy 0", "greedy 1", "modest", "greedy 2"])
    }

    /// A lane blocks its thread: if tasks shared it, they could not go on.
    @Test func `no lane runs on a thread that tasks run on`() async {
        let lanes = WorkLanes<Int>(count: 4, waitingLimit: 0)
        var threadsOfLanes: Set<String?> = []
        var threadsOfTasks: Set<String?> = []

        for _ in 0..<100 {
            threadsOfLanes.insert(await lanes.run(for: 1) { thread() })
            threadsOfTasks.insert(await Task { thread() }.value)
        }

        #expect(threadsOfLanes.isDisjoint(with: threadsOfTasks))
    }
}

/// The order in which computations have ended.
private final class Order: Sendable {
    private let noted = Mutex<[String]>([])

    var names: [String] { noted.withLock { $0 } }

    func note(_ name: String) { noted.withLock { $0.append(name) } }
}

/// The name of the calling thread: this link contains its number.
private func thread() -> String {
    (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")) ?? "unknown"
}

/// How many computations run at a time, as they report themselves.
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
