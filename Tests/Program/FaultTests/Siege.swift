import Foundation
import Synchronization
import Testing
import TestSupport

/// A server that is ended and started again, whose clock jumps and whose file is damaged, one after the other, while
/// others use it.
final class Siege {
    let server: ServerUnderTest
    private(set) var flips: PageFlips
    private let findings: Findings
    private let lines = Log()
    private var (kills, stops, ownEnds, refusedStarts, jumps) = (0, 0, 0, 0, 0)
    private var (memory, disk) = ([Int](), [Int]())
    private var lastSample = ContinuousClock.now
    /// When the server was running last, as far as is known.
    private var aliveAt = ContinuousClock.now

    private static let hour = 3600

    init(_ directory: String, _ findings: Findings) async throws {
        self.findings = findings
        server = try await ServerUnderTest(
            directory: directory, flags: ["--idle-expiry", "4h", "--absolute-expiry", "3650d", "--drain-time", "1s"],
            environment: findings.clock.environment)
        flips = PageFlips(directory + "/store/sessions.sqlite")
        lines.read(server)
    }

    /// - Parameters:
    ///   - time: for how long at least, in seconds.
    ///   - pace: 1 if there is little time; otherwise more, because growing memory and sweeping show only in runs of a
    ///     minute
    ///   - isEnough: whether all has happened that is to happen.
    func run(_ time: Int, pace: Double, until isEnough: () -> Bool) async throws {
        var rounds = 0
        var restartsAt = ContinuousClock.now
        let end = ContinuousClock.now + .seconds(time)
        while rounds < 4 || !isEnough() || ContinuousClock.now < end {
            rounds += 1
            for step in [flip, forward, back].shuffled() {
                try await step()
                try await pause(pace * .random(in: 0.3...1.5))
                guard ContinuousClock.now >= restartsAt else { continue }
                try await restart(isKilled: .random())
                // Mostly short, and some long.
                restartsAt = .now + .seconds(12 * pace * pace * pow(.random(in: 0...1), 2))
                try await pause(pace * .random(in: 0.3...1.5))
            }
        }
    }

    private func flip() async throws { try flips.flip() }

    /// Further ahead than it ever was, because the time of a server does not go back.
    private func forward() async throws {
        try move(to: findings.clock.largestOffset + .random(in: 5 * Siege.hour / 4...2 * Siege.hour))
    }

    private func back() async throws {
        try move(to: findings.clock.largestOffset - .random(in: 60...8 * Siege.hour))
    }

    private func move(to offset: Int) throws {
        try findings.clock.move(to: offset)
        jumps += 1
    }

    /// Between the end and the start, the file may be damaged and the clock set back. What was damaged may be put back:
    /// a page of the journal stays damaged until then.
    func restart(isKilled: Bool) async throws {
        let now = ContinuousClock.now
        let start = server.program.isAlive ? now : aliveAt
        server.program.signal(isKilled ? SIGKILL : SIGTERM)
        let code = try await server.program.end()
        if isKilled { kills += 1 } else { stops += 1 }
        if code == 74, flips.isOutstanding {
            ownEnds += 1
        } else if code != (isKilled ? -SIGKILL : 0) {
            findings.fault("the server ended with \(code)")
        }
        if Bool.random() { _ = try flips.putBack() }
        if Bool.random() { try flips.flip() }
        if Bool.random() { try await back() }
        try await begin(since: start)
    }

    /// If the damage is in the uncompacted tail of the journal, the server refuses to start. Then the page has to be put
    /// back.
    private func begin(since start: ContinuousClock.Instant) async throws {
        let flags = Bool.random() ? ["--live-sessions", "16"] : []
        do { try await server.restart(flags) } catch {
            lines.add("\(error)\n")
            let code = try await server.program.end()
            guard code == 65, try flips.putBack() else { throw error }
            refusedStarts += 1
            try await server.restart(flags)
        }
        let now = ContinuousClock.now
        if server.program.isAlive { aliveAt = now }
        findings.outage(since: start)
        lines.read(server)
    }

    /// Takes a sample every second, and starts the server again if it has ended itself.
    private func pause(_ seconds: Double) async throws {
        let end = ContinuousClock.now + .seconds(seconds)
        while ContinuousClock.now < end {
            try await Task.sleep(for: .milliseconds(50))
            let now = ContinuousClock.now
            if server.program.isAlive {
                aliveAt = now
            } else {
                let start = aliveAt
                let code = try await server.program.end()
                ownEnds += 1
                if code != 74 || !flips.isOutstanding { findings.fault("the server has ended itself with \(code)") }
                try await begin(since: start)
            }
            if ContinuousClock.now - lastSample >= .seconds(1) { sample() }
        }
    }

    private func sample() {
        lastSample = .now
        guard let resident = try? server.residentMemory else { return }
        memory.append(resident >> 10)
        disk.append(Faults.StoreAttackTests.size(server.directory + "/store") >> 20)
        if memory.count % 300 == 0 { FileHandle.standardError.write(Data("\(summary)\n\(findings.faults)\n".utf8)) }
    }

    /// In MiB, each with its upper limit. A thousand sessions with all of their answers take some 400. While a damaged
    /// page prevents compaction of the journal, the store grows.
    var samples: [(name: String, samples: [Int], most: Int)] {
        [("memory", memory, 512), ("store", disk, 1200)]
    }

    /// The sessions that `coordinatord check` lists as damaged.
    func listedAsDamaged() async throws -> Set<String> {
        let check = try Program(
            try Program.server,
            [
                "check", "--store", "sqlite:\(server.directory)/store", "--data-directory", "\(server.directory)/apps",
            ])
        let (code, output, _) = try await check.exit()
        let listed = Set(output.matches(of: /(s_[0-9A-Za-z_-]+) damaged/).map { String($0.output.1) })
        #expect((code == 0) == (listed.isEmpty && !output.contains("of the database is damaged")))
        return listed
    }

    var log: String { lines.text }

    var summary: String {
        let sizes = samples.filter { $0.samples.count >= 3 }.map { name, samples, _ in
            let thirds = (0..<3).map { Int(samples.third($0)) }
            return "\(name): \(thirds[0]), \(thirds[1]), \(thirds[2]) MiB, at most \(samples.max() ?? 0)"
        }
        return """
            together: \(findings[.events]) events, \(findings[.replays]) again, \(findings[.reads]) reads, \
            \(findings[.ended]) ended, \(findings[.expired]) expired
            \(kills) kills, \(stops) stops, \(ownEnds) ends of its own, \(refusedStarts) starts refused
            \(jumps) jumps, \(findings.clock.largestOffset / Siege.hour) hours in all
            \(flips.count) flips, \(findings[.putAside]) sessions put aside of at most \(flips.mostDamaged)
            \(sizes.joined(separator: "\n"))
            """
    }
}

/// The server's last lines, except those about events that fail on purpose and what fills the pipe.
private final class Log: Sendable {
    private static let most = 2000
    private let lines = Mutex<[String]>([])

    var text: String { lines.withLock { $0.joined(separator: "\n") } }

    func add(_ text: String) {
        let new = text.split(separator: "\n").filter { !$0.contains("handler-failed") && !$0.hasPrefix("xx") }
            .map(String.init)
        lines.withLock { lines in
            lines += new
            if lines.count > Log.most { lines.removeFirst(lines.count - Log.most) }
        }
    }

    /// Reads until the server's end. Every other time the pipe is full, and nobody reads it for a while.
    func read(_ server: ServerUnderTest) {
        let program = server.program
        let isStalled = Bool.random()
        if isStalled { Faults.LogTests.fill(server) }
        Task {
            if isStalled { try await Task.sleep(for: .seconds(4)) }
            // What comes is not always a whole line.
            var rest = ""
            while true {
                let more = try await program.moreErrors()
                if more.isEmpty, !program.isRunning { return add(rest) }
                rest += more
                guard let end = rest.lastIndex(of: "\n") else { continue }
                add(String(rest[..<end]))
                rest = String(rest[rest.index(after: end)...])
            }
        }
    }
}

extension [Int] {
    /// The mean of the first, second or last third.
    func third(_ number: Int) -> Double {
        let part = self[number * count / 3..<(number + 1) * count / 3]
        return Double(part.reduce(0, +)) / Double(Swift.max(part.count, 1))
    }
}
