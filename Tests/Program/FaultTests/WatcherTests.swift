import Foundation
import Glibc
import Synchronization
import Testing
import TestSupport

/// Follows a session's stream on a thread of its own, and connects again whenever it is cut.
final class StreamWatcher: Sendable {
    private struct State {
        var socket: Int32 = -1
        var last = 0
        var faults: [String] = []
        var hasEnded = false
    }

    private let port: Int
    private let session: SessionUnderTest
    private let state = Mutex(State())

    init(port: Int, _ session: SessionUnderTest) {
        self.port = port
        self.session = session
    }

    /// The last version that it was told.
    var last: Int { state.withLock(\.last) }
    var faults: [String] { state.withLock(\.faults) }

    /// Cuts the connection that it has now.
    func cut() {
        state.withLock { if $0.socket >= 0 { shutdown($0.socket, Int32(SHUT_RDWR)) } }
    }

    func end() {
        state.withLock { $0.hasEnded = true }
        cut()
    }

    func run() {
        while !state.withLock(\.hasEnded) {
            if let socket = BlockingClient.connect(to: port) {
                let hasEnded = state.withLock { state in
                    state.socket = socket
                    return state.hasEnded
                }
                if !hasEnded { read(socket) }
                state.withLock { $0.socket = -1 }
                close(socket)
            }
            usleep(20_000)
        }
    }

    private func read(_ socket: Int32) {
        var request = "GET \(session.path)/updates HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(session.token)\r\n"
        if last > 0 { request += "Last-Event-ID: \"\(last)\"\r\n" }
        request += "\r\n"
        guard send(socket, request, request.utf8.count, Int32(MSG_NOSIGNAL)) == request.utf8.count else { return }
        var received: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var isFirst = true
        while true {
            let count = recv(socket, &buffer, buffer.count, 0)
            guard count > 0 else { return }
            received += buffer[..<count]
            if isFirst {
                guard received.starts(with: "HTTP/1.1 200".utf8) else { return }
                isFirst = false
            }
            // An event is whole once the empty line after it is there. Framing of chunks may stand in between, but not
            // in a line of an event this small.
            while let end = received.firstRange(of: Array("}\n\n".utf8)) {
                note(String(decoding: received[..<end.lowerBound], as: UTF8.self))
                received.removeFirst(end.upperBound)
            }
        }
    }

    private func note(_ event: String) {
        guard let id = event.firstMatch(of: /id: "(\d+)"/).flatMap({ Int($0.output.1) }),
            let version = event.firstMatch(of: /"version":(\d+)/).flatMap({ Int($0.output.1) })
        else { return state.withLock { $0.faults.append("not an event: \(event)") } }
        state.withLock { state in
            if id != version { state.faults.append("event \(id) has version \(version)") }
            if version <= state.last { state.faults.append("version \(version) after \(state.last)") }
            state.last = max(state.last, version)
        }
    }
}

extension Faults {
    @Suite struct WatcherTests {
        @Test func `through kills, drains and cut connections, versions ascend, and the last one arrives`() async throws
        {
            let directory = TemporaryDirectory()
            let server = try await ServerUnderTest(directory: directory.path, flags: ["--drain-time", "1s"])
            let checker = BlockingClient(port: server.port)
            let sessions = try (0..<4).map { _ in try SessionUnderTest(checker) }
            let posters = (0..<8).map { Poster($0, port: server.port, [sessions[$0 % 4]]) }
            let watchers = sessions.flatMap { session in (0..<8).map { _ in StreamWatcher(port: server.port, session) }
            }
            let watching = watchers.map { watcher in Task { try await blocking { watcher.run() } } }
            defer { for watcher in watchers { watcher.end() } }

            for round in 1...Scale.rounds(8, long: 250) {
                let before = watchers.map(\.last)
                async let posted: Void = posters.postUntilCut()
                // All are there again.
                try await eventually { zip(watchers, before).allSatisfy { $0.last > $1 } }
                for _ in 0..<4 {
                    watchers.randomElement()?.cut()
                    try await Task.sleep(for: .milliseconds(.random(in: 1...30)))
                }
                if round.isMultiple(of: 4) { try await server.stop() } else { try await server.kill() }
                try await posted
                try await server.restart()
                try await posters.finishPending()
                // Every fourth time, everyone must get there before the next fault.
                if round.isMultiple(of: 4) { try await WatcherTests.settle(watchers, sessions, checker) }
            }

            try await WatcherTests.settle(watchers, sessions, checker)
            for watcher in watchers { #expect(watcher.faults == []) }
            for watcher in watchers { watcher.end() }
            for one in watching { try await one.value }
            try await server.stop()
        }

        /// Waits until every watcher has its session's last version.
        private static func settle(
            _ watchers: [StreamWatcher], _ sessions: [SessionUnderTest], _ client: BlockingClient
        ) async throws {
            client.disconnect()
            for (index, session) in sessions.enumerated() {
                let version = session.count + 1
                for watcher in watchers[(index * 8)..<(index * 8 + 8)] {
                    try await eventually { watcher.last >= version }
                    #expect(watcher.last == version)
                }
            }
        }
    }
}
