import Foundation
import Measures
import Testing

/// Runs work on threads of its own, more than there are copies of a count, so that some threads share one.
private func onThreads(_ work: @escaping @Sendable (_ number: Int) -> Void) async {
    await withTaskGroup(of: Void.self) { group in
        for number in 0..<24 {
            group.addTask {
                await withCheckedContinuation { continuation in
                    Thread.detachNewThread {
                        work(number)
                        continuation.resume()
                    }
                }
            }
        }
    }
}

@Suite struct MeasuresTests {
    @Test func `counts lose nothing when many threads add at the same time`() async {
        let counts = Counts(3)

        await onThreads { thread in
            for _ in 0..<100_000 { counts.add(thread % 2 + 1, at: thread % 3) }
        }

        // Of the eight threads for each count, four add 1 and four add 2.
        #expect((0..<3).map { counts[$0] } == [1_200_000, 1_200_000, 1_200_000])
    }

    @Test func `a distribution counts a value at its bound below it, and one above all bounds apart`() {
        let distributions = Distributions(2, bounds: [10, 20])

        for value in [-5, 10, 11, 20, 21, 1000] { distributions.add(value, at: 1) }

        let reading = distributions.reading(at: 1)
        #expect(reading.counts == [2, 2, 2] && reading.sum == 1062 && reading.count == 6)
        #expect(distributions.reading(at: 0).count == 0)
    }

    @Test func `distributions lose nothing when many threads add at the same time`() async {
        let distribution = Distributions(bounds: [1, 2, 4])

        await onThreads { _ in for value in 0..<50_000 { distribution.add(value % 6) } }

        let reading = distribution.reading()
        #expect(reading.count == 24 * 50_000 && reading.sum == 24 * (0..<50_000).reduce(0) { $0 + $1 % 6 })
    }
}
