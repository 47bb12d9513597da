internal import Coordinators
internal import FoundationEssentials
internal import Glibc

/// Work that takes a while and notes each attempt in the file of the environment variable ODD_LEDGER, timers, and a
/// signal from outside: for tests that kill the server.
struct WorkshopCoordinator: Coordinator {
    private var done: [Int] = []
    private var rung: [Int] = []
    private var delivered: [String] = []

    enum Event: NavigationEvent {
        case begin(jobs: Int), ring(bells: Int, milliseconds: Int)
        static let examples: [Event] = [.begin(jobs: 1), .ring(bells: 1, milliseconds: 1)]
    }

    enum Signal: NavigationSignal {
        case finished(Int), rang(Int)
        case delivered(String)
        static let external: [Signal] = [.delivered("wood")]
    }

    enum Effect: NavigationEffect { case job(Int) }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("workshop")) }

    func handle(_ event: Event, _ navigator: inout Navigator) {
        switch event {
        case .begin(let jobs): for job in 1...max(1, jobs) { navigator.perform(Effect.job(job), id: "job\(job)") }
        case .ring(let bells, let delay):
            for bell in 1...max(1, bells) {
                navigator.schedule(Signal.rang(bell), after: .milliseconds(delay * bell), id: "bell\(bell)")
            }
        }
    }

    func perform(_ effect: Effect, in context: EffectContext) async throws -> Signal? {
        guard case .job(let job) = effect else { return nil }
        note("\(context.session.id) \(job) \(context.effectID)\n")
        while isHeld { try await Task.sleep(for: .milliseconds(10)) }
        try await Task.sleep(for: .milliseconds(.random(in: 1...200)))
        return .finished(job)
    }

    func willBeRemoved(_ reason: RemovalReason, in context: EffectContext) async throws {
        note("\(context.session.id) \(reason.rawValue) \(context.effectID)\n")
        try await Task.sleep(for: .milliseconds(.random(in: 1...200)))
    }

    /// Whether a test wants jobs to go on, for as long as there is the file's neighbour.
    private var isHeld: Bool {
        ProcessInfo.processInfo.environment["ODD_LEDGER"].map { access("\($0).hold", F_OK) == 0 } ?? false
    }

    /// Appends a line in one step, as several servers do.
    private func note(_ line: String) {
        guard let path = ProcessInfo.processInfo.environment["ODD_LEDGER"] else { return }
        let file = Glibc.open(path, O_WRONLY | O_APPEND | O_CREAT, 0o600)
        defer { close(file) }
        _ = Array(line.utf8).withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
    }

    mutating func receive(_ signal: Signal, _ navigator: inout Navigator) {
        switch signal {
        case .finished(let job): done.append(job)
        case .rang(let bell): rung.append(bell)
        case .delivered(let what): delivered.append(what)
        }
    }

    func render(_ screen: inout Screen, in context: NavigationContext) {
        screen.params = [
            "done": .array(done.map(JSON.integer)), "rung": .array(rung.map(JSON.integer)),
            "delivered": .array(delivered.map(JSON.string)),
        ]
    }
}
