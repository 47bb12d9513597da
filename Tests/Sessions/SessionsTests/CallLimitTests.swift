import Coordinators
import Foundation
import Sessions
import Synchronization
import TestSupport
import Testing

/// Calls of coordinators' functions that outlive their deadline.
@Suite struct CallLimitTests {
    @Test func `calls that outlive their deadline are counted, and only so many may`() async throws {
        let (gate, deadlines) = (Gate(), Deadlines())
        var settings = SessionSettings.unhurried
        settings.observeDeadline = deadlines.observe
        let host = SessionHostTests.make(settings: settings)
        var created: [AuthorizedSession] = []
        for _ in 1...32 { created.append(try await session(on: host)) }
        let sessions = created

        try await Gate.$current.withValue(gate) { () async throws in
            let events = sessions.map { session in
                Task.immediate { try await session.apply(PostedEvent("wait", payload: 1)) }
            }
            try await eventually { gate.waitingCount == 32 }
            try await deadlines.pass(until: 32, of: host)
            for event in events { await #expect(throws: SessionError.self) { try await event.value } }

            // The service that it waits for hangs: it is not asked again for now. What does not wait for it goes on.
            let session = sessions[0]
            await #expect(throws: SessionError.refused(.overloaded(retryAfter: 10), state: try session.state())) {
                try await session.apply(PostedEvent("wait", payload: 1))
            }
            #expect(try await session.apply(PostedEvent("pass", payload: 2)).state.version == 2)
            #expect(host.lateCalls == 32)

            gate.open()
            try await eventually { host.lateCalls == 0 }
            let applied = try await session.apply(PostedEvent("wait", payload: 3))
            #expect(SessionHostTests.passed(applied.state) == [2, 3])
        }
    }

    @Test func `a call is late when its time is over`() async throws {
        let gate = Gate()
        let store = MemoryStore()
        let created = try await SessionHostTests.make(store: store).create()
        var settings = SessionSettings.unhurried
        settings.handlerDeadline = .milliseconds(20)
        let host = SessionHostTests.make(store: store, settings: settings)
        let session = try await host.session(created.id, token: created.token.text)

        try await Gate.$current.withValue(gate) { () async throws in
            await #expect {
                try await session.apply(PostedEvent("wait", payload: 1))
            } throws: { error in
                if case SessionError.deadlineExceeded = error { true } else { false }
            }
            gate.open()
        }
    }

    private func session(on host: SessionHost) async throws -> AuthorizedSession {
        let created = try await host.create()
        return try await host.session(created.id, token: created.token.text)
    }
}

@Suite struct FunctionConductTests {
    private static let second = 1_000_000_000

    private static func proven() -> FunctionConduct {
        let conduct = FunctionConduct()
        for _ in 1...8 { conduct.prove(by: 1000) }
        return conduct
    }

    @Test func `a function is called on a connection's thread once it has returned at once a few times`() {
        let conduct = FunctionConduct()
        for _ in 1...8 {
            #expect(conduct.begin(at: 1) == .elsewhere)
            conduct.prove(by: 1000)
        }
        #expect(conduct.begin(at: 1) == .here)
        #expect(!conduct.end(1, at: 1000))
        #expect(conduct.begin(at: 2000) == .here)
    }

    @Test func `waiting proves nothing`() {
        let conduct = FunctionConduct()
        for _ in 1...100 { conduct.prove(by: FunctionConductTests.second / 20) }
        #expect(conduct.begin(at: 1) == .elsewhere)
    }

    @Test func `a function that has blocked such a thread has to prove itself longer each time, in a row`() {
        let conduct = FunctionConductTests.proven()
        for proof in [32, 128, 512] {
            #expect(conduct.begin(at: 1) == .here)
            #expect(conduct.end(1, at: FunctionConductTests.second / 5))
            for _ in 1..<proof { conduct.prove(by: 1000) }
            #expect(conduct.begin(at: 1) == .elsewhere)
            conduct.prove(by: FunctionConductTests.second / 5)
            for _ in 1..<proof { conduct.prove(by: 1000) }
            #expect(conduct.begin(at: 1) == .elsewhere)
            conduct.prove(by: 1000)
        }
        #expect(conduct.begin(at: 1) == .here)
    }

    @Test func `a function that often takes its time is moved, and one that does so rarely is not`() {
        func blocks(after calls: Int, every slow: Int) -> Bool {
            let conduct = FunctionConductTests.proven()
            return (1...calls).contains { number in
                #expect(conduct.begin(at: 1) == .here)
                return conduct.end(1, at: number.isMultiple(of: slow) ? FunctionConductTests.second / 11 : 1000)
            }
        }
        #expect(blocks(after: 10, every: 1))
        #expect(blocks(after: 100, every: 4))
        #expect(!blocks(after: 10_000, every: 20))
    }

    @Test func `a function holds a bounded number of threads`() {
        let conduct = FunctionConduct()
        for _ in 1...64 { #expect(conduct.takeThread()) }
        #expect(!conduct.takeThread())
        conduct.giveThreadBack()
        #expect(conduct.takeThread())
    }

    @Test func `while a function blocks such a thread, it is called on no other one, and that is said once`() {
        let conduct = FunctionConductTests.proven()
        let start = FunctionConductTests.second
        #expect(conduct.begin(at: start) == .here)
        #expect(conduct.begin(at: start + 1000) == .here)
        #expect(!conduct.end(start + 1000, at: start + 2000), "another call does not hide the one that blocks")
        let later = start + FunctionConductTests.second / 5
        #expect(conduct.begin(at: later) == .elsewhereFromNow)
        #expect(conduct.begin(at: later) == .elsewhere)
        #expect(!conduct.end(start, at: later + 1))
    }
}
