import Foundation
import Testing
import TestSupport

extension Faults {
    /// What a long-running server leaves behind.
    @Suite struct LeakTests {
        /// 40,000 times there and back; in the long form, a million events. Before that, histories fill and the allocator
        /// settles; SQLite's cache keeps filling for a while, and is left to the long form.
        @Test(arguments: [(["--store", "memory"], 10_000, 2048)] + (Scale.isLong ? [([], 50_000, 8192)] : []))
        func `after flows were started and left, the coordinators and the memory are as before`(
            flags: [String], first: Int, limit: Int
        ) async throws {
            let directory = TemporaryDirectory()
            let server = try await ServerUnderTest(directory: directory.path, flags: flags)
            let opener = BlockingClient(port: server.port)
            let sessions = try (0..<16).map { _ in try SessionUnderTest(opener) }
            let count = Scale.factor == 1 ? 40_000 : 500_000
            try await LeakTests.goThereAndBack(first, in: sessions, at: server.port)
            let trees = sessions.map { opener.call("GET", "\($0.path)/coordinators", token: $0.token)?.text }
            var growth: [Int] = []

            // A leak grows again. What more threads need does not, if a busy machine has interrupted a function for so long
            // that it is called on others from then on.
            repeat {
                let memory = try server.residentMemory
                try await LeakTests.goThereAndBack(count, in: sessions, at: server.port)
                growth.append(try server.residentMemory - memory)
            } while growth.count < 3 && growth[growth.count - 1] >= limit

            #expect(growth[growth.count - 1] < limit, "grown by \(growth) KiB, each in \(2 * count) events")
            for (session, tree) in zip(sessions, trees) {
                #expect(tree?.contains(#""count":1"#) == true)
                #expect(opener.call("GET", "\(session.path)/coordinators", token: session.token)?.text == tree)
            }
            try await server.stop()
        }

        /// Starts a flow and leaves it, in all sessions at once. The count is the sum over all sessions.
        static func goThereAndBack(_ count: Int, in sessions: [SessionUnderTest], at port: Int) async throws {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for session in sessions {
                    group.addTask {
                        try await blocking {
                            let client = BlockingClient(port: port)
                            for _ in 0..<count / sessions.count {
                                for event in [#"{"type":"pushFlow","payload":1}"#, #"{"type":"back"}"#] {
                                    let reply = client.call(
                                        "POST", "\(session.path)/events", token: session.token, body: event)
                                    guard reply?.status == 200 else { throw TestFailure(reply?.text ?? "cut") }
                                }
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }
}
