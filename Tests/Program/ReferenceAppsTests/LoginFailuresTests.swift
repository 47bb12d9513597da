import Coordinators
import Testing

@testable import ReferenceApps

@Suite struct LoginFailuresTests {
    @Test func `the name that failed longest ago makes room for another`() throws {
        var failures = LoginFailures(limit: 2)
        let start = ContinuousClock.now
        let names = try ["ann", "bob", "cid"].map {
            LoginAttempt(account: try #require(AccountName($0)), client: ClientAddress("here"))
        }

        for (second, name) in names.enumerated() {
            for _ in 0..<3 { failures.fail(name, at: start + .milliseconds(second)) }
        }

        #expect(failures.count == 2)
        #expect(throws: Never.self) { try failures.check(names[0], at: start) }
        #expect(throws: LoginError.self) { try failures.check(names[1], at: start) }
        #expect(throws: LoginError.self) { try failures.check(names[2], at: start) }
    }

    @Test func `ten thousand failures delay an account by only a minute`() throws {
        var failures = LoginFailures()
        let now = ContinuousClock.now
        let ann = LoginAttempt(account: try #require(AccountName("ann")), client: nil)

        for _ in 0..<10_000 { failures.fail(ann, at: now) }

        #expect(throws: LoginError.tooManyFailures(retryAfter: 60)) { try failures.check(ann, at: now) }
    }
}
