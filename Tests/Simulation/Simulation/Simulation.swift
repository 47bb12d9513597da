// Simulation: everything that can happen to a session, from one seed (docs/testing.md).
//
// A walk posts events, sends signals, lets time pass and ends effects, on the engine alone: no store, no server, no
// clock. What coordinators do is chosen by the walk, too: the app `anything` only performs scripts. After each step the
// oracle checks the rules that hold in every app. It knows the engine's public values, and none of its code.
//
// `Vocabulary` has the words of scripts and steps, `Anything` the app that performs them, `Generator` chooses them,
// `Plain` is the state as lists, `Model` says what each request does to it, `Watch` compares that with what happened,
// `PlainClient` draws what a client is sent, `Oracle` has the other rules, and `Walk` puts them together.
import Coordinators
import JSONCoding

/// What a walk has found: the same kind of fault has the same rule and signature in every walk.
package struct Finding: Sendable, Hashable {
    /// What does not hold, by its name in `Rule`.
    package let rule: Rule
    /// The operations, calls and refusals that make the kind: shortening keeps them.
    package let signature: String
    /// A sentence for a person.
    package let reason: String

    package init(rule: Rule, signature: String, reason: String) {
        (self.rule, self.signature, self.reason) = (rule, signature, reason)
    }

    package var kind: String { "\(rule.rawValue): \(signature)" }

    /// Whether one of these is the kind, or what it begins with, followed by `…`.
    package func isKnown(among kinds: Set<String>) -> Bool {
        kinds.contains(kind) || kinds.contains { $0.hasSuffix("…") && kind.hasPrefix($0.dropLast()) }
    }
}

/// The rules of the oracle.
package enum Rule: String, Sendable, CaseIterable {
    /// What is offered is accepted.
    case listed
    /// What is not offered is refused, and what is refused has changed nothing.
    case unlisted
    /// An event takes effect only on what its client has been sent.
    case seen
    /// A screen that its coordinator protects is left only after the user has agreed to that.
    case asked
    /// What is saved can be read, and is equal.
    case restored
    /// A client that performs the operations has the state.
    case client
    /// `back` does what was predicted.
    case back
    /// Everything refers to what lives.
    case place
    /// What was removed hears and does nothing.
    case gone
    /// Everyone is told exactly once how it ended.
    case told
    /// A request does what its documentation says.
    case request
    /// A message or a signal reaches whom it is for.
    case message
    /// A link is offered to those who may take it, and one that is kept or waits is not forgotten.
    case link
    /// Alerts are shown one after the other, and none is lost.
    case alert
    /// An effect has one outcome, a timer fires once and not early.
    case once
    /// A refusal names a limit that is reached, and what is saved is counted.
    case bounds
    /// The same event on the same state has the same result.
    case same
    // Those of sessions on a store, see `SessionSimulation`.
    /// What is committed can be read, wherever it is kept, and is equal.
    case readable
    /// What was acknowledged is there, what was refused has changed nothing.
    case kept
    /// A session's versions count by one, each from the one before; a condition holds for the version that it names.
    case order
    /// A dry run says what then happens, and changes nothing.
    case dry
    /// A token, a code, a key of a service may do what it may at that moment.
    case access
    /// A watcher learns of each version or of a later one, and of the end.
    case watched
    /// Everybody gets an answer.
    case alive
}

/// The reduced sequence that leads to a finding.
package struct Failure: Sendable, CustomStringConvertible {
    package let seed: UInt64
    package let finding: Finding
    package let setup: Setup
    package let steps: [Step]

    /// What happened, and a test that can be pasted.
    package var description: String {
        """
        // Seed \(seed), \(finding.kind)
        // \(finding.reason)
        @Test func `seed \(seed) \(finding.rule.rawValue)`() async throws {
            let findings = try await Simulation.replay(
                setup: #\"\(setup.text)\"#,
                steps: [
                    \(steps.map { "#\"\($0.text)\"#," }.joined(separator: "\n            "))
                ])
            #expect(findings == [])
        }
        """
    }
}

package enum Simulation {
    /// What one walk has found.
    package struct Report: Sendable {
        package var failures: [Failure] = []
        package var steps = 0
        /// How many steps were refused.
        package var refused = 0
        package var usage = Usage()
    }

    /// Walks once.
    ///
    /// - Parameters:
    ///   - known: the kinds that are not reported, see `Finding.isKnown`.
    ///   - trace: gets a line for each step.
    package static func walk(
        seed: UInt64, steps count: Int, ignoring known: Set<String> = [], shortens: Bool = true,
        trace: ((String) -> Void)? = nil
    ) async -> Report {
        var report = Report()
        var reported: Set<String> = []
        var generator = Generator(seed: seed)
        let setup = generator.setup()
        var taken: [Step] = []
        var walk: Walk?
        var found: [(Finding, Int)] = []
        let table = Table()
        await Table.$current.withValue(table) {
            guard var begun = await Walk(setup, table) else { return }
            trace?("seed \(seed) \(setup.text)")
            for number in 1...max(1, count) {
                let step = generator.step(for: begun.state, begun.plain)
                taken.append(step)
                let isLast = number == count
                let findings = await begun.take(step, checksAll: number % 20 == 0 || isLast)
                trace?("\(number) \(step.text) \(begun.outcome) \(begun.plain.nesting) \(begun.digest)")
                for finding in findings where !finding.isKnown(among: known) && reported.insert(finding.kind).inserted {
                    found.append((finding, number))
                }
            }
            walk = begun
        }
        report.steps = taken.count
        report.refused = walk?.refusedCount ?? 0
        report.usage = table.usage
        for (finding, number) in found {
            let steps = Array(taken[..<number])
            let failure = Failure(seed: seed, finding: finding, setup: setup, steps: steps)
            report.failures.append(shortens ? await shortened(failure) : failure)
        }
        return report
    }

    /// The shortest sequence that leads to the same kind of finding.
    package static func shortened(_ failure: Failure) async -> Failure {
        var shortening = Shortening(failure.setup, failure.steps, failure.finding, walk: take)
        let shortest = await shortening.shorten()
        return Failure(
            seed: failure.seed, finding: shortest.finding, setup: shortest.setup, steps: shortest.steps)
    }

    /// Takes steps until they lead to that kind of finding.
    private static func take(_ setup: Setup, _ steps: [Step], until kind: String) async -> ([Step], Finding)? {
        let table = Table()
        return await Table.$current.withValue(table) {
            guard var walk = await Walk(setup, table) else { return nil }
            for (index, step) in steps.enumerated() {
                let findings = await walk.take(step, checksAll: index == steps.count - 1)
                if let same = findings.first(where: { $0.kind == kind }) { return (Array(steps[...index]), same) }
            }
            return nil
        }
    }

    /// Takes the steps of a failure again.
    ///
    /// - Returns: the kinds of all findings.
    package static func replay(setup: String, steps: [String]) async throws -> [String] {
        let setup = try JSON(parsing: Array(setup.utf8), maximumDepth: 512).decode(as: Setup.self)
        let steps = try steps.map { try JSON(parsing: Array($0.utf8), maximumDepth: 512).decode(as: Step.self) }
        return await findings(of: setup, steps).map(\.kind)
    }

    static func findings(of setup: Setup, _ steps: [Step]) async -> [Finding] {
        let table = Table()
        return await Table.$current.withValue(table) {
            guard var walk = await Walk(setup, table) else { return [] }
            var findings: [Finding] = []
            for step in steps { findings += await walk.take(step, checksAll: true) }
            return findings
        }
    }
}

/// What can be made a bit simpler in several ways.
package protocol Simplifiable: Sendable {
    var simpler: [Self] { get }
}

extension Setup: Simplifiable {}
extension Step: Simplifiable {}

/// Leaves out steps, then parts of them, as long as the same kind of finding remains.
package struct Shortening<Start: Simplifiable, Move: Simplifiable> {
    /// Walks, and returns the steps until the finding, and the finding; `nil` if there is none of the kind.
    package typealias Walking = (Start, [Move], _ kind: String) async -> ([Move], Finding)?

    private var setup: Start
    private let kind: String
    private var best: (steps: [Move], finding: Finding)
    private var attemptsLeft: Int
    private let walk: Walking

    package init(_ setup: Start, _ steps: [Move], _ finding: Finding, attempts: Int = 6000, walk: @escaping Walking) {
        (self.setup, kind, best) = (setup, finding.kind, (steps, finding))
        (attemptsLeft, self.walk) = (attempts, walk)
    }

    package mutating func shorten() async -> (setup: Start, steps: [Move], finding: Finding) {
        var size = max(1, best.steps.count / 2)
        while attemptsLeft > 0 {
            let isShorter = await leaveOut(size)
            guard size > 1 || isShorter else { break }
            size = max(1, size / 2)
        }
        // What is simpler may need fewer steps.
        repeat { await simplify() } while await leaveOut(1)
        return (setup, best.steps, best.finding)
    }

    /// Leaves out so many steps at a time.
    ///
    /// - Returns: whether any could be.
    private mutating func leaveOut(_ size: Int) async -> Bool {
        var start = 0
        var isShorter = false
        while start < best.steps.count, attemptsLeft > 0 {
            var fewer = best.steps
            fewer.removeSubrange(start..<min(start + size, fewer.count))
            if await tries(setup, fewer) { isShorter = true } else { start += size }
        }
        return isShorter
    }

    /// Leaves out parts of the steps and of the setup.
    private mutating func simplify() async {
        var index = 0
        while index < best.steps.count, attemptsLeft > 0 {
            var isSimpler = false
            for simpler in best.steps[index].simpler {
                var steps = best.steps
                steps[index] = simpler
                isSimpler = await tries(setup, steps)
                if isSimpler { break }
            }
            if !isSimpler { index += 1 }
        }
        var isSimpler = true
        while isSimpler {
            isSimpler = false
            for simpler in setup.simpler where !isSimpler { isSimpler = await tries(simpler, best.steps) }
        }
    }

    /// Keeps a sequence if it leads to the same kind of finding.
    private mutating func tries(_ setup: Start, _ steps: [Move]) async -> Bool {
        guard attemptsLeft > 0 else { return false }
        attemptsLeft -= 1
        guard let found = await walk(setup, steps, kind) else { return false }
        (self.setup, best) = (setup, found)
        return true
    }
}
