public import Coordinators

/// A user who does anything that the app offers, in any order: a test that every app should pass.
///
/// ```swift
/// @Test(arguments: 0..<20 as Range<UInt64>)
/// func `the shop survives every sequence of events`(seed: UInt64) async throws {
///     try await RandomWalk(Shop.app, seed: seed).run()
/// }
/// ```
///
/// It posts events that the session lists as accepted, those of coordinators with the payloads of their examples, or
/// with those that buttons and rows of the visible screen carry. In between it performs effects with the app's services,
/// or lets them fail, sends the signals of other systems with the payloads of `external`, pairs another device if the app
/// is told of it, and lets time pass until the next timer is due, or for half as long. After each step it checks that
///
/// - the step was not refused after all, no function of a coordinator threw an error that is not expected, and no
///   coordinator made a request that cannot be performed;
/// - the invariants hold, `render` changes no screen when it is called again, and the state is the same after it was
///   saved and restored, byte for byte;
/// - a visible screen with `hasContent` has content;
/// - a client that performs the operations on the state before has drawn the state after;
/// - `back` did what `backPlan` predicted;
/// - every coordinator that was removed is in `finished` or in `dismissed`;
/// - the visible screen's link, opened in a fresh session or in this one, leads to a screen of the same name,
///   parameters and link.
///
/// If a handler throws `Overloaded` or an expected error, or if a limit is reached, nothing changes, except that an effect
/// or timer is over, and the walk continues. `cover` walks many times, and reports the parts of the app that no walk reached.
public struct RandomWalk: Sendable {
    public let app: App
    public let seed: UInt64
    /// The number of steps: events that are posted, and what happens without the user.
    public let count: Int
    /// The time that handlers see as `Navigator.now` at first.
    public let now: Date
    /// Paths that are opened beside those that screens show, such as examples of links with parameters.
    public let links: [String]
    /// What the client says about itself; `nil` if nothing, until the walk posts `describeClient`.
    public let client: ClientInfo?
    private let expected: [any Error.Type]

    /// - Parameters:
    ///   - client: what the client says about itself when the session begins.
    ///   - links: paths to open beside those that screens show, such as examples of links with parameters.
    ///   - expected: the types of the errors that coordinators may throw.
    public init(
        _ app: App, seed: UInt64, count: Int = 300, now: Date = CoordinatorTester.someTime, client: ClientInfo? = nil,
        links: [String] = [], expecting expected: [any Error.Type] = []
    ) {
        self.app = app
        self.seed = seed
        self.count = count
        self.now = now
        self.client = client
        self.links = links
        self.expected = expected
    }

    /// Takes the steps.
    ///
    /// - Returns: the parts of the app that were reached.
    /// - Throws: the first problem, with the shortest sequence of steps found that leads to it.
    @discardableResult
    public func run() async throws(Failure) -> Coverage {
        try await run { _, _ in nil }
    }

    /// A further check after a transition. It gets the state before, which is empty for the first transition, and the
    /// result, and returns a sentence about what is wrong; `nil` if nothing is.
    package typealias Check = @Sendable (NavigationState, TransitionResult) -> String?

    /// Takes the steps, and makes a further check after each.
    @discardableResult
    package func run(andCheck check: @escaping Check) async throws(Failure) -> Coverage {
        var numbers = SplitMix64(seed: seed)
        var walk: Walk
        do throws(Problem) {
            walk = try await begin(andCheck: check)
        } catch {
            throw Failure(seed: seed, reason: error.reason, steps: [])
        }
        do throws(Problem) {
            for _ in 0..<count { try await walk.step(walk.chooseStep(with: &numbers)) }
        } catch {
            throw await shortened(walk.steps, error, check)
        }
        return walk.coverage
    }

    private func begin(andCheck check: @escaping Check) async throws(Problem) -> Walk {
        try await Walk(app, at: now, client: client, links: links, expecting: expected, andCheck: check)
    }

    /// Leaves out steps, at first many at a time, at last one at a time, as long as the same problem remains.
    private func shortened(_ steps: [Step], _ problem: Problem, _ check: @escaping Check) async -> Failure {
        var best = (steps: steps, problem: problem)
        var attemptsLeft = RandomWalk.attempts
        var size = max(1, steps.count / 2)
        while true {
            var start = 0
            var isShorter = false
            while start < best.steps.count, attemptsLeft > 0 {
                attemptsLeft -= 1
                var fewer = best.steps
                fewer.removeSubrange(start..<min(start + size, fewer.count))
                if let found = await replay(fewer, check), found.problem.isLike(problem) {
                    best = found
                    isShorter = true
                } else {
                    start += size
                }
            }
            guard attemptsLeft > 0, size > 1 || isShorter else { break }
            size = max(1, size / 2)
        }
        return Failure(seed: seed, reason: best.problem.reason, steps: best.steps)
    }

    private static let attempts = 1000

    /// Takes these steps, except those that are no longer possible.
    ///
    /// - Returns: the steps taken and the problem to which they lead; `nil` if there is none.
    private func replay(_ steps: [Step], _ check: @escaping Check) async -> (steps: [Step], problem: Problem)? {
        var walk: Walk
        do throws(Problem) {
            walk = try await begin(andCheck: check)
        } catch {
            return ([], error)
        }
        do throws(Problem) {
            for step in steps where walk.accepts(step) { try await walk.step(step) }
            return nil
        } catch {
            return (walk.steps, error)
        }
    }
}

extension RandomWalk {
    /// What a walk does at a time, by the function of `CoordinatorTester` that does the same.
    public enum Step: Sendable, Equatable {
        /// `send(_:_:)`
        case event(PostedEvent)
        /// `send(signal:_:)`
        case signal(PostedEvent)
        /// `pair()`
        case pair
        /// `use(role:)`
        case use(role: String)
        /// `advance(by:)`
        case advance(Duration)
        /// `perform(effect:)`
        case perform(effect: String)
        /// `fail(effect:)`
        case fail(effect: String)

        /// The call of the function, as Swift source.
        fileprivate var call: String {
            switch self {
            case .event(let event): "send(\(event.type.literal)\(payload(of: event)))"
            case .signal(let signal): "send(signal: \(signal.type.literal)\(payload(of: signal)))"
            case .pair: "pair()"
            case .use(let role): "use(role: \(role.literal))"
            case .advance(let duration): "advance(by: .milliseconds(\(Int64(duration / .milliseconds(1)))))"
            case .perform(let id): "perform(effect: \(id.literal))"
            case .fail(let id): "fail(effect: \(id.literal))"
            }
        }

        private func payload(of event: PostedEvent) -> String { event.payload.map { ", \($0.literal)" } ?? "" }
    }

    /// What went wrong, and how to reproduce it: the description can be pasted into a test.
    public struct Failure: Error, CustomStringConvertible {
        public let seed: UInt64
        /// What went wrong after the last of the steps, in a sentence.
        public let reason: String
        /// The steps that lead to it from a session's first state.
        public let steps: [Step]
        /// The posted events among them.
        public var events: [PostedEvent] { steps.events }

        public var description: String {
            let lines = steps.map { "try await app.\($0.call)" }
            return (["// Seed \(seed): \(reason)", "var app = try await CoordinatorTester(app)"] + lines)
                .joined(separator: "\n")
        }
    }

    /// What went wrong.
    struct Problem: Error {
        enum Kind {
            case refused, invariant, thrown, content, drawing, restoring, client, back, removed, link, timers, other
        }

        let kind: Kind
        let reason: String

        /// Whether it is the same but for numbers, such as those of keys: what shortening keeps.
        func isLike(_ other: Problem) -> Bool { kind == other.kind && words == other.words }

        private var words: String { reason.filter { !$0.isNumber } }
    }
}

extension [RandomWalk.Step] {
    /// The posted events.
    var events: [PostedEvent] {
        compactMap { if case .event(let event) = $0 { event } else { nil } }
    }
}

/// Steele, Lea and Flood's SplitMix: the same numbers from the same seed, everywhere.
struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) {
        state = seed
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
