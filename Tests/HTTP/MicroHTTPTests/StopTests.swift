import Foundation
import MicroHTTP
import Synchronization
import Testing
import TestSupport

/// Blocks the thread that calls it until the test calls `open`.
private final class BlockingHandler: HTTPHandler {
    private let gate = DispatchSemaphore(value: 0)
    let called = Atomic(false)

    func respond(to request: HTTPRequest) async -> HTTPResponse {
        called.store(true, ordering: .relaxed)
        block()
        return HTTPResponse(status: 200)
    }

    private func block() { gate.wait() }

    func open() { gate.signal() }
}

/// Blocks in the same way, and then stays suspended for ever.
private final class EndlessHandler: HTTPHandler {
    let first = BlockingHandler()

    func respond(to request: HTTPRequest) async -> HTTPResponse {
        let response = await first.respond(to: request)
        await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
        return response
    }
}

@Suite struct StopTests {
    /// libmicrohttpd accepts no response once it stops, and may then ask for it again.
    @Test(arguments: 1...6)
    func `a server ends even if a handler suspends or answers meanwhile`(round: Int) async throws {
        let endless = EndlessHandler()
        let handlers: [any HTTPHandler] = [endless, endless.first]
        for handler in handlers {
            endless.first.called.store(false, ordering: .relaxed)
            var server: HTTPServer? = try HTTPServer(.unhurried, handler: handler)
            let connection = try Connection(port: try #require(server?.port))
            try await connection.send(Connection.bytes("GET", "/"))
            try await eventually { endless.first.called.load(ordering: .relaxed) }

            server = nil
            try await Task.sleep(for: .milliseconds(20 * (round % 3)))
            endless.first.open()

            #expect(try await connection.isClosed())
        }
    }

    /// A server joins its threads when it stops. Here they wait for a task that needs one of Swift's threads, and more
    /// servers stop than there are such threads.
    @Test func `servers that stop do not occupy Swift's threads`() async throws {
        let handlers = (0..<ProcessInfo.processInfo.activeProcessorCount + 1).map { _ in BlockingHandler() }
        var connections: [Connection] = []
        var servers: [HTTPServer] = []
        for handler in handlers {
            let server = try HTTPServer(.unhurried, handler: handler)
            connections.append(try Connection(port: server.port))
            try await connections[connections.count - 1].send(Connection.bytes("GET", "/"))
            try await eventually { handler.called.load(ordering: .relaxed) }
            servers.append(server)
        }
        let isOpened = DispatchSemaphore(value: 0)
        // Lets the test end even if no thread is left for the task.
        async let isInTime = blocking {
            let result = isOpened.wait(timeout: .now() + Double(hangLimit))
            for handler in handlers { handler.open() }
            return result == .success
        }

        await withTaskGroup { group in
            for server in servers {
                group.addTask {
                    // Each reading of the clock is later than the one before: the stop waits for nothing but its threads.
                    let clock = HeldClock()
                    await server.stop(within: .zero) {
                        clock.advance(.seconds(60))
                        return clock.now
                    }
                }
            }
            group.addTask {
                // About as long as the servers take until they join their threads.
                try? await Task.sleep(for: .milliseconds(500))
                isOpened.signal()
            }
        }
        #expect(try await isInTime)
    }
}
