import Foundation
import PostgresStore
import SQLiteStore
import Sessions
import TestSupport
import Testing

extension SessionChange {
    /// A version with a timer, in seconds since 1970, or effects.
    static func make(
        _ number: Int, _ version: Int, keptUntil: Int = 2_000_000_000_000, timer: Int? = nil, hasEffects: Bool = false,
        isEnd: Bool = false
    ) throws -> SessionChange {
        let id = try SessionID.make(number)
        return SessionChange(
            id: id, expected: SessionStamp(version: version - 1),
            record: try .make(
                id, version, keptUntil: keptUntil, isEnd: isEnd, timer: timer, hasEffects: hasEffects))
    }
}

extension DueTimer {
    /// - Parameter due: in seconds since 1970.
    static func make(_ number: Int, _ due: Int) throws -> DueTimer {
        DueTimer(try .make(number), due: Date(timeIntervalSince1970: TimeInterval(due)))
    }
}

extension SessionStore {
    /// - Parameter now: in seconds since 1970.
    func dueTimers(at now: Int, limit: Int = 100) async throws -> [DueTimer] {
        try await dueTimers(at: Date(timeIntervalSince1970: TimeInterval(now)), limit: limit)
    }

    /// - Parameter time: in seconds since 1970.
    func delay(_ timers: [DueTimer], to time: Int?) async throws {
        try await postpone(timers, until: time.map { Date(timeIntervalSince1970: TimeInterval($0)) })
    }

    /// Waits until a store that writes in two steps has done the second.
    func settle() async throws { try await eventually { figures.uncompactedRows ?? 0 == 0 } }
}

/// When sessions must wake, in every kind of store. A store that writes in two steps must answer the same before and
/// after the second step.
@Suite struct WakeContract {
    /// Checks twice: at once, and when nothing is left to do in the background.
    static func twice(_ store: any SessionStore, _ check: () async throws -> Void) async throws {
        try await check()
        try await store.settle()
        try await check()
    }

    @Test(arguments: StoreKind.allCases)
    func `timers that are due are found, the earliest first, and no more than asked for`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            for (number, timer) in [(1, 30), (2, 10), (3, nil), (4, 20), (5, 40)] as [(Int, Int?)] {
                #expect(await store.commit([try .make(number, 1, timer: timer)]) == .success([]))
            }

            try await WakeContract.twice(store) { () async throws in
                #expect(try await store.dueTimers(at: 9) == [])
                #expect(try await store.dueTimers(at: 10) == [.make(2, 10)])
                let all = try [DueTimer.make(2, 10), .make(4, 20), .make(1, 30)]
                #expect(try await store.dueTimers(at: 39) == all)
                #expect(try await store.dueTimers(at: 39, limit: 2) == Array(all.prefix(2)))
                #expect(try await store.dueTimers(at: 39) == all, "they are due until something changes")
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a version has its own timer, or none, and an answer changes nothing`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            for number in 1...4 { _ = await store.commit([try .make(number, 1, timer: 10)]) }
            try await store.settle()

            _ = await store.commit([try .make(1, 2, timer: 20)])
            _ = await store.commit([try .make(2, 2)])
            _ = await store.commit([try .make(3, 2, isEnd: true)])
            let id = try SessionID.make(4)
            let answer = SessionChange(
                id: id, expected: SessionStamp(version: 1), record: nil, answer: try .make(id, "a"))
            #expect(await store.commit([answer]) == .success([]))

            try await WakeContract.twice(store) { () async throws in
                #expect(try await store.dueTimers(at: 19) == [.make(4, 10)])
                #expect(try await store.dueTimers(at: 20) == [.make(4, 10), .make(1, 20)])
                #expect(try await store.dueTimers(at: 20, limit: 1) == [.make(4, 10)])
            }
            // Earlier than before, and again after none.
            _ = await store.commit([try .make(1, 3, timer: 5)])
            _ = await store.commit([try .make(2, 3, timer: 6)])
            try await WakeContract.twice(store) { () async throws in
                #expect(try await store.dueTimers(at: 6) == [.make(1, 5), .make(2, 6)])
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a timer that would fire after the session's expiry is not found`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            _ = await store.commit([
                try .make(1, 1, timer: 1_899_999_999), try .make(2, 1, timer: 1_900_000_000),
            ])

            try await WakeContract.twice(store) { () async throws in
                #expect(try await store.dueTimers(at: 1_999_999_999) == [.make(1, 1_899_999_999)])
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a session that is forgotten wakes no more`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            _ = await store.commit([
                try .make(1, 1, keptUntil: 1_000, timer: 10, hasEffects: true),
                try .make(2, 1, keptUntil: 1_000, timer: 10, hasEffects: true),
                try .make(3, 1, timer: 10, hasEffects: true),
            ])
            if let store = store as? any WritableStore { #expect(try await store.forget(.make(1))) }
            try await eventually {
                _ = try await store.sweep(at: Date(timeIntervalSince1970: 5), limit: 10)
                return store.sessionCount == 1
            }

            #expect(try await store.dueTimers(at: 10) == [.make(3, 10)])
            #expect(try await store.sessionsWithEffects(after: nil, limit: 9) == [.make(3)])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a timer that is postponed is due later, or never`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            for number in 1...3 { _ = await store.commit([try .make(number, 1, timer: 10 * number)]) }
            try await store.settle()

            try await store.delay([.make(1, 10), .make(9, 10)], to: 25)
            try await store.delay([.make(2, 20)], to: nil)
            try await store.delay([], to: nil)

            #expect(try await store.dueTimers(at: 24) == [])
            #expect(try await store.dueTimers(at: 99) == [.make(1, 25), .make(3, 30)])
            #expect(try await store.load(.make(1))?.stamp == SessionStamp(version: 1), "it is no commit")

            // A commit makes a timer of its own, even if that is due as before.
            _ = await store.commit([try .make(2, 2, timer: 20), try .make(1, 2, timer: 11)])
            try await WakeContract.twice(store) { () async throws in
                #expect(try await store.dueTimers(at: 20) == [.make(1, 11), .make(2, 20)])
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `what a commit has changed meanwhile is not postponed`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            for number in 1...3 { _ = await store.commit([try .make(number, 1, timer: 10)]) }
            let found = try await store.dueTimers(at: 10)
            _ = await store.commit([try .make(1, 2, timer: 12)])
            try await store.settle()
            _ = await store.commit([try .make(2, 2, timer: 13)])

            try await store.delay(found, to: nil)

            try await WakeContract.twice(store) { () async throws in
                #expect(try await store.dueTimers(at: 99) == [.make(1, 12), .make(2, 13)])
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `what was committed a moment ago can be postponed`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            _ = await store.commit([try .make(1, 1, timer: 10), try .make(2, 1, timer: 10)])

            try await store.delay([.make(1, 10)], to: 20)

            #expect(try await store.dueTimers(at: 19) == [.make(2, 10)])
            #expect(try await store.dueTimers(at: 20) == [.make(2, 10), .make(1, 20)])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `sessions with effects are found page by page until their effects are over`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            for number in [5, 1, 4, 2, 3] {
                _ = await store.commit([try .make(number, 1, timer: 10, hasEffects: number != 3)])
            }
            func pages(_ limit: Int) async throws -> [[SessionID]] {
                var pages = [try await store.sessionsWithEffects(after: nil, limit: limit)]
                while let last = pages.last?.last {
                    pages.append(try await store.sessionsWithEffects(after: last, limit: limit))
                }
                return pages
            }
            let ids = try (1...5).map(SessionID.make)
            try await WakeContract.twice(store) { () async throws in
                #expect(try await pages(3) == [[ids[0], ids[1], ids[3]], [ids[4]], []])
            }

            _ = await store.commit([
                try .make(1, 2), try .make(2, 2, isEnd: true), try .make(3, 2, hasEffects: true),
                try .make(4, 2, hasEffects: true),
            ])

            try await WakeContract.twice(store) { () async throws in
                #expect(try await pages(2) == [[ids[2], ids[3]], [ids[4]], []])
            }
        }
    }

    @Test func `timers and effects are kept when sessions are moved from one kind of store to another`() async throws {
        let places: [StoredSessionsTests.Place] = [
            .sqlite(TemporaryDirectory()), .postgres(try await PostgresCluster.makeDatabase()),
            .sqlite(TemporaryDirectory()),
        ]
        let first = try await places[0].open()
        _ = await first.commit([
            try .make(1, 1, timer: 5), try .make(1, 2, timer: 10), try .make(2, 1, hasEffects: true),
            try .make(3, 1, timer: 10, hasEffects: true), try .make(3, 2),
        ])
        await first.close()
        for (from, to) in zip(places, places.dropFirst()) {
            let ids = try from.reader().page(after: nil).sessions
            let contents = try from.reader().contents(of: ids[...]).compactMap { try $0.value.get() }

            let store = try await to.open()
            #expect(try await store.insert(contents) == [])

            try await WakeContract.twice(store) { () async throws in
                #expect(try await store.dueTimers(at: 99) == [.make(1, 10)])
                #expect(try await store.sessionsWithEffects(after: nil, limit: 9) == [.make(2)])
            }
            await store.close()
        }
    }
}
