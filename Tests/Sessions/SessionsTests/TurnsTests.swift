import Synchronization
import Testing

@testable import Sessions

@Suite struct TurnsTests {
    /// Callers that wait for one turn after the other.
    private final class Line: Sendable {
        private let turns = Mutex(Turns())
        private let served = Mutex<[String]>([])

        init() { _ = turns.withLock { $0.enterAtOnce() } }

        /// - Returns: whether it could wait. Once this has returned, it waits.
        func wait(_ name: String, as caller: Turns.Caller, limit: Int) -> Bool {
            let isRefused = Mutex(false)
            Task.immediate {
                let entry = await withCheckedContinuation { continuation in
                    let entry = turns.withLock { $0.enter(continuation, as: caller, limit: limit) }
                    if let entry { continuation.resume(returning: entry) }
                    isRefused.withLock { $0 = entry == .full }
                }
                if entry == .entered { served.withLock { $0.append(name) } }
            }
            return !isRefused.withLock(\.self)
        }

        /// Gives the turn to one after the other, until `count` have had it.
        func serve(_ count: Int) async -> [String] {
            for number in 1...count {
                turns.withLock { $0.leave() }?.resume(returning: .entered)
                while served.withLock(\.count) < number { await Task.yield() }
            }
            return served.withLock(\.self)
        }
    }

    @Test func `services and effects wait in places of their own, and let clients go first`() async {
        let line = Line()
        #expect((1...3).map { line.wait("s\($0)", as: .service, limit: 2) } == [true, true, false])
        #expect((1...9).allSatisfy { line.wait("e\($0)", as: .own, limit: .max) })
        #expect((1...3).map { line.wait("c\($0)", as: .client, limit: 2) } == [true, true, false])

        let served = await line.serve(13)

        #expect(served == ["c1", "c2", "s1", "s2"] + (1...9).map { "e\($0)" })
    }

    @Test func `who takes something away goes before all that wait`() async {
        let line = Line()
        #expect(line.wait("e", as: .own, limit: .max) && line.wait("c", as: .client, limit: 1))
        #expect(line.wait("first", as: .ending, limit: 0) && line.wait("second", as: .ending, limit: 0))

        let served = await line.serve(4)

        #expect(served == ["first", "second", "c", "e"])
    }

    @Test func `clients go on, however many want to take something away`() async {
        let line = Line()
        #expect(line.wait("c", as: .client, limit: 1))
        for number in 1...20 { #expect(line.wait("x\(number)", as: .ending, limit: 0)) }

        #expect(await line.serve(21).firstIndex(of: "c") == 8)
    }

    @Test func `others go on, however many clients wait`() async {
        let line = Line()
        #expect(line.wait("e", as: .own, limit: .max))
        for number in 1...20 { #expect(line.wait("c\(number)", as: .client, limit: 32)) }

        let served = await line.serve(21)

        #expect(served.firstIndex(of: "e") == 8 && served.filter { $0 != "e" } == (1...20).map { "c\($0)" })
    }
}
