import Foundation
import MicroHTTP
import Synchronization
import Testing
import TestSupport

/// Blocks the thread that it is called on until it is opened.
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

/// Blocks likewise, and then waits for something that never comes.
private final class EndlessHandler: HTTPHandler {
    let first = BlockingHandler()

    func respond(to request: HTTPRequest) async -> HTTPResponse {
        let response = await first.respond(to: request)
        await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in }
        return response
    }
}

@Suite struct StopTests {
    /// libmicrohttpd takes no response once it stops, and may ask for it again.
    @Test(arguments: 1...20)
    func `a handler that suspends or answers while the server ends keeps nothing from ending`(round: Int) async throws {
        let endless = EndlessHandler()
        let handlers: [any HTTPHandler] = [endless, endless.first]
        for handler in handlers {
            endless.first.called.store(false, ordering: .relaxed)
            var settings = HTTPServer.Settings()
            settings.port = 0
            var server: HTTPServer? = try HTTPServer(settings, handler: handler)
            let connection = try Connection(port: try #require(server?.port))
            try await connection.send(Connection.bytes("GET", "/"))
            try await eventually { endless.first.called.load(ordering: .relaxed) }

            server = nil
            try await Task.sleep(for: .milliseconds(20 * (round % 3)))
            endless.first.open()

            #expect(try await connection.isClosed())
        }
    }

    /// A server joins its threads when it stops. Here they wait for a task, which a thread of Swift's has to run: as many
    /// servers stop as there are such threads.
    @Test func `servers that stop leave Swift's threads to others`() async throws {
        let handlers = (0..<ProcessInfo.processInfo.activeProcessorCount + 1).map { _ in BlockingHandler() }
        var connections: [Connection] = []
        var servers: [HTTPServer] = []
        for handler in handlers {
            var settings = HTTPServer.Settings()
            settings.port = 0
            let server = try HTTPServer(settings, handler: handler)
            connections.append(try Connection(port: server.port))
            try await connections[connections.count - 1].send(Connection.bytes("GET", "/"))
            try await eventually { handler.called.load(ordering: .relaxed) }
            servers.append(server)
        }
        let isOpened = DispatchSemaphore(value: 0)
        // So that the test ends where no thread is left for the task.
        async let isInTime = blocking {
            let result = isOpened.wait(timeout: .now() + 15)
            for handler in handlers { handler.open() }
            return result == .success
        }

        await withTaskGroup { group in
            for server in servers { group.addTask { await server.stop(within: .zero) } }
            group.addTask {
                // Longer than a stop takes to come to the threads.
                try? await Task.sleep(for: .seconds(3))
                isOpened.signal()
            }
        }
        #expect(try await isInTime)
    }
}
