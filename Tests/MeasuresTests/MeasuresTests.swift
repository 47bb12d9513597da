import Measures
import Testing

@Suite struct MeasuresTests {
    @Test func `counts lose nothing when many threads add at the same time`() async {
        let counts = Counts(3)

        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask { for _ in 0..<50_000 { counts.add(task % 2 + 1, at: task % 3) } }
            }
        }

        // The tasks 0, 3, 6 add to the first count, and so on; odd tasks add 2.
        #expect((0..<3).map { counts[$0] } == [200_000, 250_000, 150_000])
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

        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 { group.addTask { for value in 0..<10_000 { distribution.add(value % 6) } } }
        }

        let reading = distribution.reading()
        #expect(reading.count == 80_000 && reading.sum == 8 * (0..<10_000).reduce(0) { $0 + $1 % 6 })
    }
}
