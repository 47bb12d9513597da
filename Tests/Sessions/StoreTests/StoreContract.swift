import Foundation
import PostgresStore
import SQLiteStore
import Sessions
import Sodium
import TestSupport
import Testing

/// Every kind of store; each test gets a new one.
enum StoreKind: CaseIterable {
    case memory, sqlite, relaxedSQLite, postgres

    func withStore(
        _ retention: Retention = Retention(), _ body: (any SessionStore) async throws -> Void
    ) async throws {
        switch self {
        case .memory: try await body(MemoryStore(retention: retention))
        case .sqlite, .relaxedSQLite:
            let directory = TemporaryDirectory()
            let store = try SQLiteStore(
                directory: directory.path, durability: self == .sqlite ? .strict : .relaxed, retention: retention
            ) { Issue.record("\($0)") }
            try await body(store)
            await store.close()
        case .postgres:
            let store = try await PostgresStore.open(
                uri: PostgresCluster.makeDatabase(), durability: .relaxed, retention: retention, limits: .hours
            ) { text, _ in Issue.record("\(text)") }
            try await body(store)
            await store.close()
        }
    }
}

/// A directory that is removed with this value.
final class TemporaryDirectory {
    let path = NSTemporaryDirectory() + "coordinatord-store-\(UUID())"
    deinit { try? FileManager.default.removeItem(atPath: path) }
}

extension EncodedRecord {
    /// A version of a session, with its number in its state.
    ///
    /// - Parameters:
    ///   - size: of a text in place of the number, in bytes; 0 for the number.
    ///   - tokens: two hexadecimal digits for each, from which its digest is made.
    ///   - timer: when its next timer is due, in seconds since 1970.
    static func make(
        _ id: SessionID, _ version: Int, keptUntil: Int = 2_000_000_000_000, isEnd: Bool = false,
        origin: SessionID? = nil, size: Int = 0, tokens: [String] = ["ab"], user: String? = nil,
        timer: Int? = nil, hasEffects: Bool = false
    ) throws -> EncodedRecord {
        let number = size > 0 ? "\"\(String(repeating: "x", count: size))\"" : "\(version)"
        let pending =
            (timer.map { [#"{"id":"t","due":\#($0 * 1000)}"#] } ?? [])
            + (hasEffects ? [#"{"id":"e","effect":"hold"}"#] : [])
        let state =
            isEnd
            ? ""
            : #","expiresAt":1900000000000,"event":"e\#(version)","state":{"number":\#(number)"#
                + (pending.isEmpty ? "" : #","pending":[\#(pending.joined(separator: ","))]"#) + "}"
        let origin = origin.map { "\"origin\":\"\($0.text)\"," } ?? ""
        let list = tokens.enumerated().map { index, digits in
            #"{"number":\#(index + 1),"token":"\#(String(repeating: digits, count: 32))","createdAt":1800000000000,"#
                + #""usedAt":1800000000000}"#
        }
        let token =
            tokens.count == 1
            ? #""token":"\#(String(repeating: tokens[0], count: 32))""# : #""tokens":[\#(list.joined(separator: ","))]"#
        let signedIn = user.map { "\"user\":\"\($0)\"," } ?? ""
        let text = """
            {"session":"\(id.text)","app":"a",\(token),"createdAt":1800000000000,\
            \(origin)\(signedIn)"version":\(version),"time":\(1_700_000_000_000 + version),"keptUntil":\(keptUntil)\(state)}
            """
        return try SessionRecord(parsing: Array(text.utf8)).encoded
    }
}

extension StoredAnswer {
    static func make(_ id: SessionID, _ key: String, version: Int = 1, size: Int = 0) throws -> StoredAnswer {
        let text = """
            {"session":"\(id.text)","key":"\(key)","fingerprint":"\(String(repeating: "cd", count: 32))",\
            "version":\(version),"body":"{\\"answer to\\": \\"\(key)\(String(repeating: "x", count: size))\\"}"}
            """
        return try StoredAnswer(parsing: Array(text.utf8))
    }
}

extension SessionChange {
    /// A version of a session, with an answer if there is a key for it.
    static func make(_ id: SessionID, _ version: Int, keptUntil: Int = 2_000_000_000_000, key: String? = nil) throws
        -> SessionChange
    {
        SessionChange(
            id: id, expected: SessionStamp(version: version - 1), record: try .make(id, version, keptUntil: keptUntil),
            answer: try key.map { try .make(id, $0, version: version) })
    }
}

extension SQLiteStore {
    /// A store that compacts nothing by itself, so that its files stay as the commits leave them.
    static func uncompacted(_ directory: TemporaryDirectory) throws -> SQLiteStore {
        try SQLiteStore(directory: directory.path, compactsWhenQuiet: false) { Issue.record("\($0)") }
    }

    func compact() async throws {
        // This compacts everything first.
        #expect(try await !forget(.make(0)))
    }
}

extension SessionID {
    static func make(_ number: Int) throws -> SessionID {
        let digits = String(number)
        return try #require(SessionID("s_" + String(repeating: "0", count: 13 - digits.count) + digits))
    }
}

extension SessionStore {
    func load(_ id: SessionID) async throws(StoreError) -> LoadedSession? { try await load(id, token: nil) }

    func history(of id: SessionID, from version: Int?, limit: Int) async throws(StoreError) -> [SessionRecord] {
        try await history(of: id, from: version, limit: limit, bytes: .max)
    }

    /// Commits versions of a session one after the other.
    func commit(_ id: SessionID, versions: ClosedRange<Int>) async throws {
        for version in versions { #expect(await commit([try .make(id, version)]) == .success([])) }
    }
}

/// What every store promises. A store that writes in two steps must answer the same before and after the second step.
@Suite struct StoreContract {
    @Test(arguments: StoreKind.allCases)
    func `what was committed is loaded again`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let id = try SessionID.make(1)
            #expect(try await store.load(id) == nil)

            try await store.commit(id, versions: 1...3)

            let loaded = try #require(try await store.load(id))
            #expect(loaded.record.encoded.text == (try EncodedRecord.make(id, 3)).text)
            #expect(loaded.answeredKeys == [])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a batch commits what fits and returns what conflicts`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let (one, other, unknown) = (try SessionID.make(1), try SessionID.make(2), try SessionID.make(3))
            try await store.commit(one, versions: 1...1)

            let outcome = await store.commit([
                try .make(one, 2), try .make(one, 2), try .make(other, 1), try .make(one, 1),
                try .make(unknown, 5), SessionChange(id: unknown, expected: .none, record: nil),
            ])

            #expect(outcome == .success([one, one, unknown, unknown]))
            #expect(try await store.load(one)?.record.version == 2)
            #expect(try await store.load(other)?.record.version == 1)
            #expect(try await store.load(unknown) == nil)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `sessions are counted until they are forgotten`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            for number in 1...3 {
                _ = await store.commit([
                    try .make(.make(number), 1, keptUntil: number * 1000),
                    try .make(.make(number), 2, keptUntil: number * 1000),
                ])
            }
            _ = await store.commit([try .make(.make(1), 1)])
            #expect(store.sessionCount == 3)

            try await eventually {
                _ = try await store.sweep(at: Date(timeIntervalSince1970: 1), limit: 10)
                return store.sessionCount <= 2
            }

            #expect(store.sessionCount == 2)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `of several commits of the same version at the same time, one succeeds`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let id = try SessionID.make(1)
            for version in 1...20 {
                let conflicts = try await withThrowingTaskGroup(of: CommitOutcome.self) { group in
                    for _ in 0..<8 { group.addTask { await store.commit([try .make(id, version)]) } }
                    return try await group.reduce(into: 0) { $0 += try $1.get().count }
                }
                #expect(conflicts == 7)
            }
            #expect(try await store.load(id)?.record.version == 20)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `an answer is kept with a new version, or without one`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let id = try SessionID.make(1)
            _ = await store.commit([try .make(id, 1, key: "a"), try .make(id, 2, key: "b")])
            let nothingNew = SessionChange(
                id: id, expected: SessionStamp(version: 2), record: nil, answer: try .make(id, "c", version: 2))
            #expect(await store.commit([nothingNew]) == .success([]))

            #expect(try await store.answer(to: "b", of: id) == (try .make(id, "b", version: 2)))
            #expect(try await store.answer(to: "c", of: id) == (try .make(id, "c", version: 2)))
            #expect(try await store.answer(to: "d", of: id) == nil)
            #expect(try await store.answer(to: "a", of: try .make(2)) == nil)
            #expect(try await store.load(id)?.answeredKeys == ["a", "b", "c"])
            #expect(try await store.load(id)?.record.version == 2)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `the last versions and the last answers are kept`(kind: StoreKind) async throws {
        try await kind.withStore(Retention(versions: 5, answers: 3)) { store in
            let id = try SessionID.make(1)
            for version in 1...12 {
                _ = await store.commit([try .make(id, version, key: "k\(version)")])
            }

            #expect(
                try await store.history(of: id, from: nil, limit: 100, bytes: .max).map(\.version) == [
                    12, 11, 10, 9, 8,
                ])
            #expect(try await store.history(of: id, from: 10, limit: 2, bytes: .max).map(\.version) == [10, 9])
            #expect(try await store.history(of: id, from: 7, limit: 2, bytes: .max).map(\.version) == [])
            #expect(try await store.load(id)?.answeredKeys.suffix(3) == ["k10", "k11", "k12"])
            #expect(try await store.answer(to: "k10", of: id) != nil)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a history ends when it has as many bytes as may be read, and has at least one version`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            let id = try SessionID.make(1)
            for version in 1...9 { _ = await store.commit([try .make(id, version)]) }
            func versions(from version: Int?, bytes: Int) async throws -> [Int] {
                try await store.history(of: id, from: version, limit: 5, bytes: bytes).map(\.version)
            }
            let size = try EncodedRecord.make(id, 9).text.count

            #expect(try await versions(from: nil, bytes: 3 * size) == [9, 8, 7])
            #expect(try await versions(from: 6, bytes: 2 * size + size / 2) == [6, 5])
            #expect(try await versions(from: nil, bytes: 0) == [9])
            #expect(try await versions(from: nil, bytes: 100 * size) == [9, 8, 7, 6, 5])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a load with a token finds only the session with that token`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let id = try SessionID.make(1)
            try await store.commit(id, versions: 1...2)
            let token = try #require(SHA256Digest(hex: String(repeating: "ab", count: 32)))

            #expect(try await store.load(id, token: token)?.record.version == 2)
            #expect(try await store.load(id, token: SHA256Digest(of: "another")) == nil)
            #expect(try await store.load(try .make(2), token: token) == nil)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a load finds a session by any of its tokens, and by none that it has not any more`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            let id = try SessionID.make(1)
            for (version, tokens) in [(1, ["ab"]), (2, ["ab", "cd", "ef"]), (3, ["ab", "ef"])] {
                let record = try EncodedRecord.make(id, version, tokens: tokens)
                _ = await store.commit([
                    SessionChange(id: id, expected: SessionStamp(version: version - 1), record: record)
                ])

                for digits in ["ab", "cd", "ef", "12"] {
                    let token = try #require(SHA256Digest(hex: String(repeating: digits, count: 32)))
                    let found = try await store.load(id, token: token)
                    #expect((found?.record.version == version) == tokens.contains(digits), "\(digits) in \(version)")
                    if let found { #expect(found.record.encoded.text == record.text) }
                }
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `sessions are found by who is signed in`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            func commit(_ number: Int, _ version: Int, _ user: String?, isEnd: Bool = false) async throws {
                let id = try SessionID.make(number)
                let record = try EncodedRecord.make(id, version, keptUntil: 4_000, isEnd: isEnd, user: user)
                let change = SessionChange(id: id, expected: SessionStamp(version: version - 1), record: record)
                #expect(await store.commit([change]) == .success([]))
            }
            // One stays, one signs in later, one signs out, one changes hands, one ends, one is nobody's.
            try await commit(1, 1, "ann")
            try await commit(2, 1, nil)
            try await commit(2, 2, "ann")
            try await commit(3, 1, "ann")
            try await commit(3, 2, nil)
            try await commit(4, 1, "ann")
            try await commit(4, 2, "bob ’; -- \u{1F600}")
            try await commit(5, 1, "ann")
            try await commit(5, 2, "ann", isEnd: true)
            try await commit(6, 1, nil)

            // A store may list those that were the user's, until it has written them to its tables.
            let certain = Set(try [1, 2].map(SessionID.make))
            let possible = certain.union(try [3, 4, 5].map(SessionID.make))
            let found = Set(try await store.sessions(ofUser: "ann"))
            #expect(certain.isSubset(of: found) && found.isSubset(of: possible))
            #expect(try await store.sessions(ofUser: "bob ’; -- \u{1F600}") == [SessionID.make(4)])
            try await eventually { Set(try await store.sessions(ofUser: "ann")) == certain }
            #expect(try await store.sessions(ofUser: "carol") == [])
            #expect(try await store.load(.make(1))?.record.identity.user == "ann")

            try await eventually {
                _ = try await store.sweep(at: Date(timeIntervalSince1970: 5), limit: 10)
                return try await store.sessions(ofUser: "ann").isEmpty
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `forks are found by their origin`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let (origin, fork, other, ofFork) = (
                try SessionID.make(1), try SessionID.make(2), try SessionID.make(3), try SessionID.make(4)
            )
            try await store.commit(origin, versions: 1...2)
            for (id, from) in [(fork, origin), (other, origin), (ofFork, fork)] {
                let first = try EncodedRecord.make(id, 1, keptUntil: 4_000, origin: from)
                #expect(await store.commit([SessionChange(id: id, expected: .none, record: first)]) == .success([]))
            }

            #expect(Set(try await store.forks(of: origin)) == [fork, other])
            #expect(try await store.forks(of: fork) == [ofFork])
            #expect(try await store.forks(of: other) == [])
            #expect(try await store.load(fork)?.record.identity.origin == origin)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `the past is bounded in bytes, but the last version is kept whatever its size`(kind: StoreKind) async throws {
        try await kind.withStore(Retention(versionBytes: 10_000)) { store in
            let id = try SessionID.make(1)
            for version in 1...30 {
                let record = try EncodedRecord.make(id, version, size: 1000)
                _ = await store.commit([
                    SessionChange(id: id, expected: SessionStamp(version: version - 1), record: record)
                ])
            }
            try await eventually { (5...9).contains(try await store.history(of: id, from: nil, limit: 100).count) }

            let record = try EncodedRecord.make(id, 31, size: 20_000)
            _ = await store.commit([SessionChange(id: id, expected: SessionStamp(version: 30), record: record)])

            try await eventually { try await store.history(of: id, from: nil, limit: 100).count == 1 }
            #expect(try await store.history(of: id, from: nil, limit: 100).map(\.version) == [31])
            #expect(try await store.load(id)?.record.version == 31)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `answers are bounded in bytes, and older ones are kept without their bodies`(kind: StoreKind) async throws {
        try await kind.withStore(Retention(answerBytes: 10_000)) { store in
            let id = try SessionID.make(1)
            try await store.commit(id, versions: 1...1)
            for number in 1...30 {
                let answer = try StoredAnswer.make(id, "k\(number)", size: 1000)
                _ = await store.commit([
                    SessionChange(
                        id: id, expected: SessionStamp(version: 1, commits: number), record: nil, answer: answer)
                ])
            }

            func kept() async throws -> [Int] {
                var kept: [Int] = []
                for number in 1...30 {
                    let answer = try #require(try await store.answer(to: "k\(number)", of: id))
                    #expect(answer.version == 1 && answer.fingerprint.hex == String(repeating: "cd", count: 32))
                    if let body = answer.body, body.count > 1000 { kept.append(number) }
                }
                return kept
            }
            try await eventually { try await (5...9).contains(kept().count) }
            let last = try await kept()
            #expect(last.last == 30 && last == Array(last[0]...30))
            #expect(try await store.load(id)?.answeredKeys.count == 30)

            let large = try StoredAnswer.make(id, "large", size: 20_000)
            _ = await store.commit([
                SessionChange(
                    id: id, expected: SessionStamp(version: 1, commits: 31), record: nil, answer: large)
            ])
            #expect(try await store.answer(to: "large", of: id) == large)
            try await eventually { try await store.answer(to: "k30", of: id)?.body == nil }
            #expect(try await store.answer(to: "k30", of: id)?.body == nil)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `answers to clients and answers to services do not displace each other`(kind: StoreKind) async throws {
        try await kind.withStore(Retention(answers: 20, answerBytes: 10_000)) { store in
            let id = try SessionID.make(1)
            try await store.commit(id, versions: 1...1)
            var commits = 1
            func commit(_ key: String, size: Int) async throws {
                let answer = try StoredAnswer.make(id, key, size: size)
                let stamp = SessionStamp(version: 1, commits: commits)
                let change = SessionChange(id: id, expected: stamp, record: nil, answer: answer)
                #expect(await store.commit([change]) == .success([]))
                commits += 1
            }
            func kept() async throws -> [String] { try #require(try await store.load(id)).answeredKeys }

            try await commit("a", size: 9000)
            for number in 1...36 { try await commit("service:\(number)", size: 2000) }
            try await WakeContract.twice(store) {
                let keys = try await kept()
                #expect(keys.contains("a") && keys.contains("service:36"))
                let size = try await store.answer(to: "a", of: id)?.body?.count
                #expect(size ?? 0 > 9000)
            }

            for number in 1...36 { try await commit("b\(number)", size: 0) }
            try await WakeContract.twice(store) {
                let keys = try await kept()
                #expect(keys.contains("service:17") && keys.contains("b36"))
                let last = try await store.answer(to: "service:36", of: id)
                #expect(last?.body != nil)
            }
            // Less is kept when the background work is done.
            try await eventually { try await store.answer(to: "a", of: id) == nil }
            try await eventually { try await store.answer(to: "service:16", of: id) == nil }
            try await eventually { try await store.answer(to: "service:17", of: id)?.body == nil }
            #expect(try await store.answer(to: "service:17", of: id) != nil)
            let keys = try await kept()
            #expect(Set(keys) == Set((17...36).flatMap { ["b\($0)", "service:\($0)"] }))
        }
    }

    /// As of a withdrawn key.
    @Test(arguments: StoreKind.allCases)
    func `an answer that never had a body is kept like any other`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let id = try SessionID.make(1)
            try await store.commit(id, versions: 1...1)
            let key = SHA256Digest(of: "a").hex
            let answer = StoredAnswer(
                session: id, key: key, fingerprint: SHA256Digest(of: "b"), version: 1, body: nil)

            let change = SessionChange(id: id, expected: SessionStamp(version: 1), record: nil, answer: answer)
            #expect(await store.commit([change]) == .success([]))

            #expect(try await store.answer(to: key, of: id) == answer)
            let loaded = try #require(try await store.load(id))
            #expect(loaded.answeredKeys == [key] && loaded.record.version == 1)
        }
    }

    @Test func `an answer without its body is read back as such`() throws {
        for replacedToken in [nil, SHA256Digest(of: "token")] {
            let answer = StoredAnswer(
                session: try .make(1), key: SHA256Digest(of: "a").hex, fingerprint: SHA256Digest(of: "b"), version: 2,
                body: Array(#"{"a":1,"body":"b","c":",\"body\":"}"#.utf8), replacedToken: replacedToken,
                pairing: replacedToken.map { GivenCode(issuer: $0, expiresAt: Date(timeIntervalSince1970: 1.5)) })
            let rest = answer.withoutBody

            #expect(StoredAnswer.textWithoutBody(answer.encoded) == rest.encoded)
            #expect(StoredAnswer.textWithoutBody(rest.encoded) == rest.encoded)
            #expect(try StoredAnswer(parsing: rest.encoded) == rest)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `an ended session is kept without its past`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let id = try SessionID.make(1)
            try await store.commit(id, versions: 1...3)

            let end = SessionChange(id: id, expected: SessionStamp(version: 3), record: try .make(id, 4, isEnd: true))
            #expect(await store.commit([end]) == .success([]))

            #expect(try await store.load(id)?.record.isEnd == true)
            #expect(try await store.history(of: id, from: nil, limit: 10, bytes: .max).map(\.version) == [4])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `sweeping forgets what need not be kept, and nothing else`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            let (early, late, renewed) = (try SessionID.make(1), try SessionID.make(2), try SessionID.make(3))
            _ = await store.commit([
                try .make(early, 1, keptUntil: 1_000, key: "a"), try .make(late, 1, keptUntil: 9_000),
                try .make(renewed, 1, keptUntil: 1_000), try .make(renewed, 2, keptUntil: 9_000),
            ])
            // A store that writes in two steps may postpone the sweep of what was just used.
            var swept: [SessionID] = []
            try await eventually {
                swept = try await store.sweep(at: Date(timeIntervalSince1970: 5), limit: 10)
                return !swept.isEmpty
            }

            #expect(swept == [early])
            #expect(try await store.load(early) == nil)
            #expect(try await store.answer(to: "a", of: early) == nil)
            #expect(try await store.load(late)?.record.version == 1)
            #expect(try await store.load(renewed)?.record.version == 2)
            #expect(await store.commit([try .make(early, 1)]) == .success([]))
            #expect(try await store.history(of: early, from: nil, limit: 10, bytes: .max).map(\.version) == [1])
        }
    }
}
