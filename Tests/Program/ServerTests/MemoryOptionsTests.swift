import Foundation
import JSONCoding
import Testing
import TestSupport

@testable import CoordinatorServer

/// How much memory the server may use.
@Suite struct MemoryOptionsTests {
    /// A tree of files in place of `/proc` and `/sys`.
    func root(_ files: [String: String]) throws -> StorageTests.Directory {
        let directory = try StorageTests.Directory()
        for (path, text) in files {
            let file = URL(filePath: directory.path + path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
        }
        return directory
    }

    @Test(arguments: [
        // Version 2: the smallest limit of the group and those above it.
        (["/proc/self/cgroup": "0::/a/b\n", "/sys/fs/cgroup/a/b/memory.max": "max\n"], Int.max),
        (
            [
                "/proc/self/cgroup": "0::/a/b\n", "/sys/fs/cgroup/a/b/memory.max": "max\n",
                "/sys/fs/cgroup/a/memory.max": "500\n", "/sys/fs/cgroup/memory.max": "900\n",
            ], 500
        ),
        // In a container: the path is the host's, or there is none.
        (["/proc/self/cgroup": "0::/docker/x\n", "/sys/fs/cgroup/memory.max": "700\n"], 700),
        (["/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "700\n"], 700),
        // Version 1.
        (
            [
                "/proc/self/cgroup": "12:cpu,cpuacct:/x\n7:memory:/y\n0::/\n",
                "/sys/fs/cgroup/memory/y/memory.limit_in_bytes": "300\n",
                "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
            ], 300
        ),
        ([:], .max), (["/proc/self/cgroup": "what is this\n::\n"], .max),
    ])
    func `the control group's limit is found`(files: [String: String], limit: Int) throws {
        let root = try root(files)
        #expect(MachineMemory.groupLimit(root: root.path) == limit)
    }

    @Test func `the machine has some memory`() {
        #expect((1 << 26...1 << 50).contains(MachineMemory.size))
    }

    @Test(arguments: [("64K", 65_536), ("3M", 3 << 20), ("2G", 2 << 30), ("12", 12)])
    func `a size is read and printed`(text: String, bytes: Int) {
        #expect(ByteSize(text)?.bytes == bytes)
        #expect(ByteSize(bytes).description == text)
    }

    @Test(arguments: ["", "M", "0M", "-1M", "1.5M", "1T", "1m", "9223372036854775807G"])
    func `an invalid size is refused`(text: String) {
        #expect(ByteSize(text) == nil)
    }

    @Test(arguments: [
        ("--live-memory", "much"), ("--store-size", "1T"), ("--answers-size", "32MB"), ("--head-size", "8 K"),
        ("--body-size", "0"), ("--live-memory", "512"), ("--store-size", "20"), ("--answers-size", "1K"),
        ("--head-size", "2G"), ("--body-size", "1G"),
    ])
    func `the error for a wrong size shows the form`(flag: String, size: String) throws {
        let failure = try #require(SettingTests.failure([flag, size]))

        let errors = failure.reasons.joined()
        #expect(failure.code == 64)
        #expect(errors.contains(flag) && errors.ranges(of: ByteSize.form).count == 1)
    }

    @Test func `a budget for bodies that holds no four of them is refused`() async throws {
        let result = try await Program.refused("serve", "--requests-size", "1M", "--body-size", "257K")

        #expect(result.code == 64)
        #expect(result.errors.contains("--requests-size is less than four times --body-size"))
    }

    @Test func `the help says how sizes are written, and has their defaults`() async throws {
        let help = try await Program.coordinatord("serve", "--help").exit().output
            .split(whereSeparator: \.isWhitespace).joined(separator: " ")

        #expect(help.ranges(of: ByteSize.form).count == 1)
        for size in ["8K", "64K", "32M", "15s", "24h"] { #expect(help.contains("default: \(size))")) }
    }

    @Test(arguments: [("sqlite:", "192K"), ("memory", "64K")])
    func `a full store refuses sessions until there is room`(kind: String, size: String) async throws {
        let directory = try StorageTests.Directory()
        let store =
            kind == "memory" ? [kind] : ["\(kind)\(directory.path)/store", "--data-directory", directory.path]
        let program = try Program(
            Program.server,
            ["serve", "--port", "0", "--store-size", size, "--live-memory", "64K"] + ServerTests.unhurried + ["--store"]
                + store)
        let line = try await program.line()
        let port = try #require(line.firstMatch(of: /http:\/\/127\.0\.0\.1:(\d+)/).flatMap { Int($0.output.1) })
        let connection = try Connection(port: port)

        func remarks() async throws -> [String] {
            let ready = try await connection.request("GET", "/readyz")
            #expect(ready.status == 200)
            return try JSON(parsing: Array(ready.body))["remarks"]?.array?.compactMap(\.string) ?? []
        }

        var sessions: [StorageTests.Session] = []
        var answer = try await connection.request("POST", "/v1/sessions")
        #expect(try await remarks() == [])
        while answer.status == 201, sessions.count < 2000 {
            sessions.append(try StorageTests.Session(answer))
            answer = try await connection.request("POST", "/v1/sessions")
        }
        #expect(answer.status == 503 && answer.text.contains("storage-full") && sessions.count > 5)
        let what = kind == "memory" ? "the store is full: " : "the store or its disk is full: "
        #expect(try await remarks().map { $0.hasPrefix(what) } == [true])

        for session in sessions {
            #expect(try await connection.request("DELETE", session.path, headers: session.headers).status == 204)
        }
        // The remark disappears without a commit that succeeds.
        try await eventually { try await remarks() == [] }
        // Compaction makes the room, but uses some of it for a while.
        try await eventually { try await connection.request("POST", "/v1/sessions").status == 201 }
        program.signal(SIGTERM)
        #expect(try await program.exit().code == 0)
    }
}
