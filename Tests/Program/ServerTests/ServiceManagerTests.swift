import Foundation
import Glibc
import Testing
import TestSupport

@testable import CoordinatorServer

/// What a service manager such as systemd is told.
@Suite struct ServiceManagerTests {
    /// A datagram socket.
    private final class Manager: Sendable {
        let descriptor: CInt
        let name: String

        init(name: String) throws {
            self.name = name
            descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
            guard Manager.call(bind, descriptor, name) == 0 else { throw TestFailure("cannot bind \(name)") }
        }

        deinit { close(descriptor) }

        func next() async throws -> String {
            try await blocking { [descriptor] in
                var bytes = [UInt8](repeating: 0, count: 100)
                let count = recv(descriptor, &bytes, bytes.count, 0)
                return String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
            }
        }

        /// Leaves no room for another message, as if it had not read for long.
        func fill() {
            var hasRoom = true
            while hasRoom {
                // Each sender's own messages are limited, too.
                let sender = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
                hasRoom = Manager.call(connect, sender, name) == 0 && send(sender, "x", 1, Int32(MSG_DONTWAIT)) == 1
                while hasRoom, send(sender, "x", 1, Int32(MSG_DONTWAIT)) == 1 {}
                close(sender)
            }
        }

        private static func call(
            _ function: (CInt, UnsafePointer<sockaddr>, socklen_t) -> CInt, _ socket: CInt, _ name: String
        ) -> CInt {
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            let bytes = Array(name.utf8)
            withUnsafeMutableBytes(of: &address.sun_path) { path in
                path.copyBytes(from: bytes)
                if bytes.first == UInt8(ascii: "@") { path[0] = 0 }
            }
            let size = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
            return withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { function(socket, $0, size) }
            }
        }
    }

    private func start(_ environment: [String: String]) async throws -> Program {
        let program = try Program(
            try Program.server, ["serve", "--port", "0", "--store", "memory"] + ServerTests.unhurried,
            environment: environment)
        _ = try await program.line()
        return program
    }

    @Test(arguments: [true, false])
    func `it hears of the start and of the stop`(isAbstract: Bool) async throws {
        let directory = FileManager.default.temporaryDirectory.path
        let manager = try Manager(name: isAbstract ? "@coordinatord-\(UUID())" : "\(directory)/\(UUID()).socket")
        let program = try await start(["NOTIFY_SOCKET": manager.name])

        #expect(try await manager.next() == "READY=1")
        program.signal(SIGTERM)
        #expect(try await manager.next() == "STOPPING=1")
        #expect(try await program.exit().code == 0)
        if !isAbstract { unlink(manager.name) }
    }

    @Test func `it gets signs of life as often as it wants`() async throws {
        let manager = try Manager(name: "@coordinatord-\(UUID())")
        let program = try await start(["NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "90000"])

        var heard: [String] = []
        while heard.count(where: { $0 == "WATCHDOG=1" }) < 5 || !heard.contains("READY=1") {
            heard.append(try await manager.next())
        }
        #expect(Set(heard) == ["READY=1", "WATCHDOG=1"])
        program.signal(SIGTERM)
        #expect(try await program.exit().code == 0)
    }

    @Test func `a manager that had no room hears of the start as soon as it has`() async throws {
        let manager = try Manager(name: "@coordinatord-\(UUID())")
        manager.fill()
        let program = try await start(["NOTIFY_SOCKET": manager.name])

        while try await manager.next() != "READY=1" {}
        program.signal(SIGTERM)
        #expect(try await program.exit().code == 0)
    }

    @Test func `a manager that is gone or does not read ends and delays nothing`() async throws {
        let manager = try Manager(name: "@coordinatord-\(UUID())")
        manager.fill()
        for name in [manager.name, "@nobody-\(UUID())", "/nowhere/socket"] {
            let program = try await start(["NOTIFY_SOCKET": name, "WATCHDOG_USEC": "3000"])
            program.signal(SIGTERM)
            #expect(try await program.exit().code == 0)
        }
    }

    @Test func `what is meant for another process is ignored`() {
        let socket = ["NOTIFY_SOCKET": "/run/notify"]
        #expect(ServiceManager([:]) == nil && ServiceManager(["NOTIFY_SOCKET": "relative"]) == nil)
        #expect(ServiceManager(socket)?.watchdogTime == nil)
        let watched = socket.merging(["WATCHDOG_USEC": "9000000", "WATCHDOG_PID": "7"]) { $1 }
        #expect(ServiceManager(watched, processID: 7)?.watchdogTime == .seconds(9))
        #expect(ServiceManager(watched, processID: 8)?.watchdogTime == nil)
        #expect(ServiceManager(socket.merging(["WATCHDOG_USEC": "x"]) { $1 })?.watchdogTime == nil)
    }
}
