import Foundation
import Sessions
import Sodium
import TestSupport
import Testing

@testable import PostgresStore

@Suite struct SharedPairingTests {
    private static let start = Date(timeIntervalSince1970: 1_800_000_000)

    private static func pairing(_ issuer: Int, seconds: TimeInterval = 60) -> Pairing {
        Pairing(
            session: .make(issuer), issuer: SHA256Digest(of: "issuer \(issuer)"), label: issuer == 1 ? nil : "TV",
            role: issuer == 1 ? nil : "agent", expiresAt: start + seconds)
    }

    private static func code(_ number: Int) -> SHA256Digest { SHA256Digest(of: "code \(number)") }

    private func withPairings(_ body: (any PairingStore, any PairingStore, Database) async throws -> Void) async throws
    {
        let database = try await Database()
        let (one, other) = (try await database.open(), try await database.open())
        try await body(try #require(one.pairings), try #require(other.pairings), database)
        await one.close()
        await other.close()
    }

    @Test func `a code that one server gave out is used once, at whichever server`() async throws {
        try await withPairings { one, other, _ in
            let (code, now) = (Self.code(1), Self.start)
            try await one.open(code, for: Self.pairing(2), at: now)

            let found = try await other.find(code, key: nil, at: now)
            #expect(found.session == .make(2) && found.label == "TV" && found.expiresAt == now + 60)
            #expect(found.issuer == SHA256Digest(of: "issuer 2"))
            async let first = one.take(code, key: "k", at: now)
            async let second = other.take(code, key: "other", at: now)
            #expect(try await [first, second].count { $0 } == 1)

            await #expect(throws: SessionError.unknownCode) { _ = try await one.find(code, key: nil, at: now) }
        }
    }

    @Test func `a used code is found for ten minutes by the key that it was used under`() async throws {
        try await withPairings { one, other, _ in
            let (code, now) = (Self.code(1), Self.start)
            try await one.open(code, for: Self.pairing(1), at: now)
            #expect(try await one.take(code, key: "k", at: now))

            #expect(try await other.find(code, key: "k", at: now + 599).label == nil)
            await #expect(throws: SessionError.unknownCode) { _ = try await other.find(code, key: "j", at: now) }
            await #expect(throws: SessionError.unknownCode) { _ = try await other.find(code, key: "k", at: now + 601) }
        }
    }

    @Test func `the same code may be opened again, also after it has expired or was used`() async throws {
        try await withPairings { one, other, _ in
            let (code, now) = (Self.code(1), Self.start)
            try await one.open(code, for: Self.pairing(1), at: now)
            try await other.open(code, for: Self.pairing(1, seconds: 90), at: now + 30)
            #expect(try await one.find(code, key: nil, at: now + 89).session == .make(1))
            try await one.open(code, for: Self.pairing(1, seconds: 180), at: now + 120)
            #expect(try await one.take(code, key: "k", at: now + 121))
            try await other.open(code, for: Self.pairing(1, seconds: 240), at: now + 122)
            await #expect(throws: SessionError.unknownCode) { _ = try await one.find(code, key: nil, at: now + 123) }
        }
    }

    @Test func `a code expires, and is closed when the token's client gets the next one`() async throws {
        try await withPairings { one, other, _ in
            let now = Self.start
            try await one.open(Self.code(1), for: Self.pairing(1), at: now)
            try await other.open(Self.code(2), for: Self.pairing(1), at: now)
            #expect(try await one.find(Self.code(1), key: nil, at: now).session == .make(1))
            await other.closeOthers(than: Self.code(2), of: Self.pairing(1).issuer)

            await #expect(throws: SessionError.unknownCode) { _ = try await one.find(Self.code(1), key: nil, at: now) }
            #expect(try await one.find(Self.code(2), key: nil, at: now + 59).session == .make(1))
            await #expect(throws: SessionError.unknownCode) {
                _ = try await one.find(Self.code(2), key: nil, at: now + 60)
            }
            #expect(try await !one.take(Self.code(2), key: nil, at: now + 60))
        }
    }

    @Test func `a code that nobody has got is closed, and the earlier one stays`() async throws {
        try await withPairings { one, other, _ in
            let now = Self.start
            try await one.open(Self.code(1), for: Self.pairing(1), at: now)
            try await other.open(Self.code(2), for: Self.pairing(1), at: now)
            await one.close(Self.code(2))

            await #expect(throws: SessionError.unknownCode) { _ = try await one.find(Self.code(2), key: nil, at: now) }
            #expect(try await other.take(Self.code(1), key: nil, at: now))
        }
    }

    @Test func `a code that was taken in vain is open again, unless its token has another one`() async throws {
        try await withPairings { one, other, _ in
            let now = Self.start
            try await one.open(Self.code(1), for: Self.pairing(1), at: now)
            #expect(try await one.take(Self.code(1), key: nil, at: now))
            await other.giveBack(Self.code(1))
            #expect(try await other.take(Self.code(1), key: nil, at: now))

            try await one.open(Self.code(2), for: Self.pairing(1), at: now)
            await one.giveBack(Self.code(1))
            #expect(try await !one.take(Self.code(1), key: nil, at: now))
        }
    }

    @Test func `the servers have 256 open codes together`() async throws {
        try await withPairings { one, other, _ in
            for number in 0..<256 {
                try await (number % 2 == 0 ? one : other).open(
                    Self.code(number), for: Self.pairing(number), at: Self.start)
            }

            await #expect(throws: SessionError.tooManyCodes) {
                try await other.open(Self.code(256), for: Self.pairing(256), at: Self.start)
            }
            // In place of its own earlier one, and when the others have expired.
            try await other.open(Self.code(257), for: Self.pairing(7), at: Self.start)
            try await other.open(Self.code(258), for: Self.pairing(300, seconds: 99), at: Self.start + 60)
        }
    }

    @Test func `what is asked for does not pile up before what a server has to do by itself`() async throws {
        try await withPairings { one, _, database in
            let (count, most) = (200, 64)
            let refused = try await withThrowingTaskGroup(of: Bool.self) { group in
                let early = try await database.whileLocked("LOCK TABLE pairings") {
                    for number in 0..<count {
                        group.addTask {
                            do throws(SessionError) {
                                try await one.open(Self.code(number), for: Self.pairing(number), at: Self.start)
                                return false
                            } catch {
                                let late = SessionError.notApplied(reason: "too much waits for the database")
                                guard error == late else { throw error }
                                return true
                            }
                        }
                    }
                    // Refused although the others still wait.
                    var refused = 0
                    while refused < count - most, try await group.next() == true { refused += 1 }
                    return refused
                }
                return try await group.reduce(early) { $0 + ($1 ? 1 : 0) }
            }

            #expect(refused == count - most)
            try await one.open(Self.code(999), for: Self.pairing(999), at: Self.start)
        }
    }

    /// The count goes by the database's time, which passes while this runs; the servers' own times differ.
    @Test func `wrong codes are counted together, and beyond 70 a minute no code is looked at`() async throws {
        try await withPairings { one, other, database in
            let now = Self.start
            try await one.open(Self.code(1), for: Self.pairing(1, seconds: 3600), at: now)
            @Sendable func isLookedAt(_ number: Int) async throws -> Bool {
                let isOne = number % 2 == 0
                do {
                    _ = try await (isOne ? one : other).find(
                        Self.code(number), key: nil, at: isOne ? now : now - 0.5)
                    return true
                } catch SessionError.unknownCode {
                    return true
                } catch SessionError.tooManyTries {
                    return false
                }
            }
            let begin = ContinuousClock.now
            let looks = try await withThrowingTaskGroup(of: Int.self) { group in
                for task in 0..<40 {
                    group.addTask {
                        var count = 0
                        for round in 0..<5 where try await isLookedAt(100 + task + 40 * round) { count += 1 }
                        return count
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect((70...71 + Int((ContinuousClock.now - begin) / .milliseconds(857))).contains(looks))

            func count(milliseconds: Int) async throws {
                _ = try await database.query(
                    """
                    UPDATE store SET value = (extract(epoch FROM clock_timestamp()) * 1000)::bigint + \(milliseconds)
                    WHERE name = 'pairing_tries'
                    """)
            }
            // Unless a second passes between the two.
            try await eventually {
                try await count(milliseconds: 60_000)
                return try await !isLookedAt(1)
            }
            try await count(milliseconds: 50_000)
            #expect(try await one.find(Self.code(1), key: nil, at: now).session == .make(1))
            // The database's clock was set back.
            try await count(milliseconds: 3_600_000)
            #expect(try await isLookedAt(300))
        }
    }
}
