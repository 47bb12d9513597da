import Foundation
import Glibc
import Testing
import TestSupport

extension Faults {
    /// Disks that fail, are full or are slow. Needs root, strace and util-linux, which `scripts/test` installs.
    @Suite struct DiskTests {
        static let canMount = getuid() == 0

        /// The N-th flush of any thread fails. The server ends at once, with the exit code of an input/output error,
        /// and everything that was acknowledged is there afterwards.
        @Test func `a failed flush ends the process, and loses no acknowledged event`() async throws {
            var failures = 0
            // The later the flush, the more there is to be lost.
            let (rounds, step) = (Scale.rounds(8, long: 500), Scale.factor == 1 ? 6 : 1)
            for round in 1...rounds where try await DiskTests.failFlush(round * step) { failures += 1 }
            #expect(failures >= rounds * 4 / 5, "hardly any flush failed under load")
        }

        /// The same for a flush of the database file, after the log was copied into it.
        @Test func `a failed flush of the database file ends the process, too`() async throws {
            // The first flush is that of the start.
            #expect(try await DiskTests.failFlush(2, of: "store/sessions.sqlite"), "the log was not copied under load")
        }

        /// Makes one flush fail under load, and checks what is left.
        ///
        /// - Parameter file: the file whose flushes count; `nil` for all files
        /// - Returns: whether a flush of the store failed
        static func failFlush(_ number: Int, of file: String? = nil) async throws -> Bool {
            let directory = TemporaryDirectory()
            // The app's own accounts are created before, so that the faults hit the store.
            try await ServerUnderTest(directory: directory.path).stop()
            let log = directory.path + "/strace"
            let inject = "inject=fsync,fdatasync:error=EIO:when=\(number)"
            let paths = file.map { ["-P", "\(directory.path)/\($0)"] } ?? []
            let server: ServerUnderTest
            do {
                server = try await ServerUnderTest(
                    directory: directory.path,
                    wrapper: [
                        "strace", "-D", "-f", "--seccomp-bpf", "-y", "-e", "trace=fsync,fdatasync", "-e", inject,
                        "-o", log,
                    ] + paths)
            } catch {
                return false  // It failed while it was starting.
            }
            let client = BlockingClient(port: server.port)
            guard let first = try? SessionUnderTest(client) else { return false }
            client.disconnect()
            let posters = (1...4).map { Poster($0, port: server.port, [first]) }

            // They post as long as it takes, so the flush comes, and no answer after it.
            try await posters.postUntilCut()
            let code = try await server.program.end()
            let faults = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
                .filter { $0.contains("INJECTED") && $0.contains("/sessions.sqlite") }
            if !faults.isEmpty { #expect(code == EX_IOERR, "flush \(number)") }

            try await server.restart()
            try await posters.finishPending()
            try await blocking { try first.check(client) }
            try await server.stop()
            return !faults.isEmpty
        }

        /// Locks of its own write-ahead log that the system does not give up at once: what passes does no harm.
        @Test func `a system without memory for locks holds up commits, and then they go on`() async throws {
            let directory = TemporaryDirectory()
            let request = directory.path + "/fail"
            let server = try await ServerUnderTest(
                directory: directory.path,
                environment: ["LD_PRELOAD": try await Preloaded.unlocks, "FAILED_UNLOCKS": request])
            let client = BlockingClient(port: server.port)
            let session = try await blocking { try SessionUnderTest(client) }
            for _ in 1...3 {
                #expect(FileManager.default.createFile(atPath: request, contents: nil))

                try await eventually {
                    try await blocking { _ = try SessionUnderTest(client) }
                    return !FileManager.default.fileExists(atPath: request)
                }
            }
            try await blocking { try session.check(client) }
            try await server.stop()
        }

        @Test(.enabled(if: canMount)) func `a full disk refuses events, serves reads, and recovers`() async throws {
            let directory = try await SmallDisk("8m")
            defer { directory.unmount() }
            try Data(count: 4_000_000).write(to: URL(filePath: directory.ballast))

            try await DiskTests.fill(directory.path) { _ in try directory.free() }
        }

        @Test(.enabled(if: canMount))
        func `on a full disk sessions end and are forgotten, and devices are revoked`() async throws {
            let directory = try await SmallDisk("16m")
            defer { directory.unmount() }
            let server = try await ServerUnderTest(directory: directory.path)
            let client = BlockingClient(port: server.port)
            let session = try SessionUnderTest(client)
            let opened = try #require(client.call("POST", "\(session.path)/pairings", token: session.token, body: "{}"))
            let code = try #require(opened.member("code"))
            let paired = try #require(client.call("POST", "/v1/pairings", body: #"{"code":"\#(code)"}"#))
            let device = try #require(paired.member("token"))
            let others = try (1...500).map { _ in try SessionUnderTest(client) }
            try await directory.fill()
            var value = 1
            while try session.postAndRemember(value, key: "key-\(value)", client) { value += 1 }
            #expect(try #require(session.post(value, key: "refused", client)).text.contains("storage-full"))

            #expect(client.call("DELETE", "\(session.path)/tokens/2", token: session.token)?.status == 204)
            #expect(client.call("GET", session.path, token: device)?.status == 401)
            let (ended, rest) = (others.prefix(others.count - 3), others.suffix(3))
            for other in ended {
                try waitUntil { client.call("DELETE", other.path, token: other.token)?.status == 204 }
            }
            client.disconnect()
            try await server.stop()
            // Nor does it leave what the end of the server has freed.
            try await directory.fill()
            let store = "sqlite:\(directory.path)/store"
            for command in ["end", "purge"] {
                let last = try #require(command == "end" ? rest.first : rest.last)
                let result = try await Program.coordinatord("sessions", command, last.id, "--store", store).exit()
                #expect(result.code == 0, "\(result.errors)")
            }
            try await server.restart()
            let again = BlockingClient(port: server.port)

            #expect(again.call("GET", session.path, token: device)?.status == 401)
            for (position, other) in rest.enumerated() {
                #expect(again.call("GET", other.path, token: other.token)?.status == [410, 200, 401][position])
            }
            try directory.free()
            try await eventually { try session.postAndRemember(value, key: "accepted", again) }
            #expect(try #require(again.call("GET", "/readyz")).text.contains("full") == false)
            again.disconnect()
            try await server.stop()
        }

        /// How much still fits into the existing pages depends on the other sessions.
        @Test(.enabled(if: canMount), arguments: Scale.isLong ? [0, 3, 6, 9, 12] : [6])
        func `a server that is stopped on a full disk starts again`(others: Int) async throws {
            let directory = try await SmallDisk("8m")
            defer { directory.unmount() }
            let server = try await ServerUnderTest(directory: directory.path)
            let client = BlockingClient(port: server.port)
            let session = try SessionUnderTest(client)
            for _ in 0..<others { _ = try SessionUnderTest(client) }
            try await directory.fill()
            var value = 1
            while try session.postAndRemember(value, key: "key-\(value)", client) { value += 1 }

            for hasRoom in [false, true] {
                client.disconnect()
                try await server.stop()
                if hasRoom { try directory.free() }
                try await server.restart()
                let state = try #require(client.call("GET", session.path, token: session.token))
                #expect(state.status == 200 && state.version == session.count + 1)
            }
            #expect(try session.postAndRemember(value, key: "key-\(value)", client))
            try session.check(client)
            try await server.stop()
        }

        @Test func `a store whose file may not grow refuses events, serves reads, and recovers`() async throws {
            let directory = TemporaryDirectory()
            try await DiskTests.fill(directory.path, wrapper: ["prlimit", "--fsize=3000000:unlimited"]) { server in
                let code = try await DiskTests.run(
                    "prlimit", "--pid", "\(server.program.processID)", "--fsize=unlimited")
                #expect(code == 0)
            }
        }

        /// Posts until the storage is full, checks the server and restarts it, makes room, and continues.
        static func fill(
            _ directory: String, wrapper: [String] = [], _ makeRoom: (ServerUnderTest) async throws -> Void
        ) async throws {
            let server = try await ServerUnderTest(directory: directory, wrapper: wrapper)
            let client = BlockingClient(port: server.port)
            let session = try SessionUnderTest(client)
            let value = try await blocking {
                var value = 1
                while try session.postAndRemember(value, key: "key-\(value)", client) { value += 1 }
                return value
            }

            let refused = try #require(session.post(value, key: "key-\(value)", client))
            #expect(refused.status == 503)
            #expect(refused.text.contains("urn:coordinatord:problem:storage-full"))
            let count = session.count
            #expect(count > 100)
            let state = try #require(client.call("GET", session.path, token: session.token))
            #expect(state.status == 200 && state.version == count + 1)

            // A server that is started without room serves reads, too, however the last one has ended.
            for isKilled in [true, false, false] {
                client.disconnect()
                if isKilled { try await server.kill() } else { try await server.stop() }
                try await server.restart()
                let again = try #require(client.call("GET", session.path, token: session.token))
                #expect(again.status == 200 && (count + 1...count + 2).contains(again.version ?? 0))
                let refusedAgain = try #require(session.post(value, key: "key-\(value)", client))
                #expect([200, 503].contains(refusedAgain.status))
            }

            try await makeRoom(server)
            try await blocking {
                for next in value..<value + 50 {
                    try waitUntil { try session.postAndRemember(next, key: "key-\(next)", client) }
                }
                try session.check(client)
            }
            try await server.kill()
            try await server.restart()
            client.disconnect()
            try await blocking { try session.check(client) }
            try await server.stop()
        }

        @Test func `while a flush does not end, reads are answered`() async throws {
            let directory = TemporaryDirectory()
            try await ServerUnderTest(directory: directory.path).stop()
            let hold = try await Hold("fdatasync", at: 60)
            let server = try await ServerUnderTest(directory: directory.path, environment: hold.environment)
            let client = BlockingClient(port: server.port)
            let session = try SessionUnderTest(client)
            async let posted: Void = [Poster(1, port: server.port, [session])].postUntilCut()

            try await hold.wait()
            let count = session.count
            for _ in 0..<200 {
                #expect(client.call("GET", session.path, token: session.token)?.status == 200)
                #expect(client.call("GET", "/livez")?.status == 200)
            }
            // Without the flush, no event is answered any more.
            #expect(session.count == count)

            try hold.release()
            try await eventually { session.count > count }
            client.disconnect()
            try await server.stop()
            try await posted
        }

        static func run(_ command: String...) async throws -> Int32 {
            try await Program(URL(filePath: "/usr/bin/env"), command).end()
        }
    }
}

/// A small disk of its own, in memory.
private struct SmallDisk {
    private let directory = TemporaryDirectory()
    var path: String { directory.path }
    /// What another program has on it.
    var ballast: String { path + "/ballast" }

    /// - Parameter size: as mount(8) takes it.
    init(_ size: String) async throws {
        #expect(try await Faults.DiskTests.run("mount", "-t", "tmpfs", "-o", "size=\(size)", "tmpfs", path) == 0)
    }

    /// Another program takes all room that is left.
    func fill() async throws {
        let options = ["bs=512", "oflag=append", "conv=notrunc", "status=none"]
        _ = try await Program(URL(filePath: "/bin/dd"), ["if=/dev/zero", "of=\(ballast)"] + options).end()
    }

    func free() throws { try FileManager.default.removeItem(atPath: ballast) }

    func unmount() { umount2(path, CInt(MNT_DETACH)) }
}

extension WaitingFaults {
    @Suite struct StalledDiskTests {
        @Test func `while the disk does not answer, the server is not ready and says why`() async throws {
            let directory = TemporaryDirectory()
            let hold = try await Hold("fdatasync", at: 60)
            let server = try await ServerUnderTest(directory: directory.path, environment: hold.environment)
            let client = BlockingClient(port: server.port)
            let session = try SessionUnderTest(client)
            async let posted: Void = [Poster(1, port: server.port, [session])].postUntilCut()

            try await eventually {
                let reply = client.call("GET", "/readyz")
                return reply?.status == 503 && reply?.text.contains("the disk has not completed a write") == true
            }
            let count = session.count
            try hold.release()

            try await eventually { client.call("GET", "/readyz")?.status == 200 }
            // The commit that waited, or its repetition.
            try await eventually { session.count > count }
            client.disconnect()
            try await server.stop()
            try await posted
        }
    }
}
