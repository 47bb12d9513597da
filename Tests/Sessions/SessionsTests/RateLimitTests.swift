import Foundation
import Sessions
import Testing

@Suite struct RateLimitTests {
    static let start = Date(timeIntervalSince1970: 1_800_000_000)

    /// How many of the events at those times are admitted. Times are in seconds.
    static func admitted(_ rate: Int, at times: [Double]) throws -> Int {
        let limit = try #require(RateLimit(perSecond: rate))
        var due = RateLimit.Due()
        return times.count { limit.take(&due, at: start + $0) == nil }
    }

    @Test func `a burst may have as many events as a second`() throws {
        #expect(try RateLimitTests.admitted(10, at: Array(repeating: 0, count: 50)) == 10)
        #expect(try RateLimitTests.admitted(1, at: Array(repeating: 0, count: 50)) == 1)
    }

    @Test func `after a burst, each second admits as many events as the rate`() throws {
        let times = (0..<10_000).map { Double($0) / 1000 }
        #expect((109...110).contains(try RateLimitTests.admitted(10, at: times)))
    }

    @Test func `evenly spaced events at the rate are all admitted`() throws {
        let times = (0..<1000).map { Double($0) / 99.9 }
        #expect(try RateLimitTests.admitted(100, at: times) == 1000)
    }

    /// A thread may stand still between reading the clock and asking.
    @Test(arguments: [1, 10]) func `a time that was read earlier gives no new budget`(rate: Int) throws {
        let limit = try #require(RateLimit(perSecond: rate))
        var due = RateLimit.Due()
        let late = (0..<40).count { limit.take(&due, at: RateLimitTests.start - Double($0 % 2) / 100) == nil }
        #expect(late == rate)
    }

    @Test(arguments: [1, 2, 3, 7, 1000])
    func `what remains is what is still admitted at once`(rate: Int) throws {
        let limit = try #require(RateLimit(perSecond: rate))
        var due = RateLimit.Due()
        #expect(limit.take(&due, at: RateLimitTests.start) == nil)
        #expect(limit.remaining(due, at: RateLimitTests.start) == rate - 1)

        for _ in 1..<rate { #expect(limit.take(&due, at: RateLimitTests.start) == nil) }

        #expect(limit.remaining(due, at: RateLimitTests.start) == 0)
        #expect(limit.take(&due, at: RateLimitTests.start) == 1)
        #expect(limit.remaining(due, at: RateLimitTests.start) == 0)
    }

    @Test func `a rate of zero is no limit`() {
        #expect(RateLimit(perSecond: 0) == nil)
    }
}
