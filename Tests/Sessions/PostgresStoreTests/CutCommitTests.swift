import Postgres
import Sessions
import Synchronization
import TestSupport
import Testing

@testable import PostgresStore

/// The exchange of a commit is cut after each of its bytes, in both directions; in the short form after every third.
@Suite struct CutCommitTests {
    /// One lane's writer, whose connection goes through a proxy.
    final class Lane {
        let state: StoreState
        let writer: BatchWriter

        init(_ uri: String, _ report: @escaping @Sendable (String, Bool) -> Void) throws {
            let settings = try PostgresSettings(uri: uri)
            let state = StoreState(isStrict: false, .hours, report: report)
            let link = DatabaseLink(settings, state)
            let lanes = try ReplicaQueries.newLanes(1, link)
            try ReplicaQueries.register(1, lanes: lanes, link)
            state.setLanes(lanes)
            let values = try StoreOpening.values(settings, creating: false, nil, .hours)
            state.begin(generation: values.generation, secret: values.secret.bytes)
            self.state = state
            writer = BatchWriter(0, link, state, isClosed: { false }, followUp: { _ in })
        }

        func commit(_ changes: [SessionChange]) throws -> [SessionID] {
            let outcome = Mutex<CommitOutcome?>(nil)
            let request = CommitRequest(changes.map(EncodedChange.init), waiting: TimeLimits.hours.waiting) { answer in
                outcome.withLock { $0 = answer }
            }
            writer.commit(changes.indices.map { CommitItem(request: request, position: $0) })
            guard let answer = outcome.withLock({ $0 }) else { throw TestFailure("a commit has no outcome") }
            return try answer.get()
        }
    }

    @Test(arguments: [CuttingProxy.Direction.toServer, .toClient])
    func `a commit that is cut anywhere is decided, and carried out once`(direction: CuttingProxy.Direction)
        async throws
    {
        let database = try await Database()
        try await database.open().close()
        let proxy = try CuttingProxy(to: database.port)
        let uri = database.uri(through: proxy.port)
        let report = database.reports.add

        let (cuts, unknown) = try await blocking {
            let lane = try Lane(uri, report)
            let old = SessionID.make(1)
            var stamp = SessionStamp.none
            func changes(_ number: Int) throws -> [SessionChange] {
                [
                    try .make(old, after: stamp, "content \(number % 7)", key: "k\(number)"),
                    try .make(.make(1000 + number), "new"),
                ]
            }
            func commit(_ number: Int) throws {
                let next = try changes(number)
                #expect(try lane.commit(next) == [], "cut \(number)")
                stamp = next[0].stamp
            }
            try commit(0)
            _ = proxy.passed(direction)
            try commit(1)
            let size = proxy.passed(direction)
            // A few bytes more, so that the last cuts come after the exchange.
            let step = Scale.factor == 1 ? 3 : 1
            let positions = Array(stride(from: .random(in: 1...step), through: size + 2, by: step))
            for (number, position) in positions.enumerated() {
                proxy.cut(after: position, direction)
                try commit(number + 2)
            }
            return (positions.count, lane.state.counters.withLock { $0.unknownOutcomes })
        }

        // What was committed is there once: versions, sessions, answers, batches, without gaps.
        let count = cuts + 2
        #expect(cuts > 20 && unknown > cuts / 2)
        #expect(
            try await database.query("SELECT stamp, version FROM sessions WHERE id = '\(SessionID.make(1).text)'")
                == "\(count)|\(count)")
        #expect(try await database.query("SELECT count(*), sum(stamp) FROM sessions") == "\(count + 1)|\(2 * count)")
        #expect(try await database.query("SELECT count(*), max(version) FROM journal") == "\(2 * count)|\(count)")
        #expect(try await database.query("SELECT count(*) FROM answers") == "\(count)")
        #expect(
            try await database.query("SELECT count(*) >= \(count) AND count(*) = max(n) FROM batches WHERE lane <> 0")
                == "t")
        #expect(database.reports.all == [])
    }
}
