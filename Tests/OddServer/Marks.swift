internal import Coordinators

/// Keeps a log of all that has happened to a session, one entry a version: a state shows what was carried out and in
/// which order. A child whom it tells keeps the same log, so that half of a change would be seen. `Tests/Servers` judges
/// what clients have seen of it, and says what the entries mean.
struct MarksCoordinator: Coordinator {
    private var log: [String] = []

    enum Event: NavigationEvent {
        case mark(Int), slow(Int), work(Int), refuse(Int), dry(Int)
        case time(mark: Int, milliseconds: Int)
        static let examples: [Event] = [
            .mark(1), .slow(1), .work(1), .refuse(1), .dry(1), .time(mark: 1, milliseconds: 1),
        ]
    }

    enum Signal: NavigationSignal { case worked(Int), rang(Int) }
    enum Effect: NavigationEffect { case work(Int) }
    struct Refusal: Error {}

    func start(_ navigator: inout Navigator) {
        navigator.push(Screen("marks"), tabs: [Tab("log", Screen("log")), Tab("copy", starting: CopyCoordinator())])
    }

    mutating func handle(_ event: Event, _ navigator: inout Navigator) async throws {
        switch event {
        case .mark(let mark): add("m\(mark)", &navigator)
        case .slow(let mark):
            // Another server may commit meanwhile, or this one be killed.
            try await Task.sleep(for: .milliseconds(.random(in: 0...100)))
            add("s\(mark)", &navigator)
        case .work(let mark):
            add("w\(mark)", &navigator)
            navigator.perform(Effect.work(mark), id: "work\(mark)")
        case .time(let mark, let delay):
            add("t\(mark)", &navigator)
            navigator.schedule(Signal.rang(mark), after: .milliseconds(delay), id: "timer\(mark)")
        case .refuse(let mark):
            add("r\(mark)", &navigator)
            throw Refusal()
        case .dry(let mark): add("y\(mark)", &navigator)
        }
    }

    func perform(_ effect: Effect, in context: EffectContext) async throws -> Signal? {
        guard case .work(let mark) = effect else { return nil }
        try await Task.sleep(for: .milliseconds(.random(in: 0...500)))
        return .worked(mark)
    }

    mutating func receive(_ signal: Signal, _ navigator: inout Navigator) {
        switch signal {
        case .worked(let mark): add("W\(mark)", &navigator)
        case .rang(let mark): add("T\(mark)", &navigator)
        }
    }

    mutating func deviceDidPair(_ device: PairedDevice, _ navigator: inout Navigator) {
        add("d\(device.label ?? "")", &navigator)
    }

    func render(_ screen: inout Screen, in context: NavigationContext) {
        if screen.name == "log" { screen.params = ["log": .array(log.map(JSON.string))] }
    }

    private mutating func add(_ entry: String, _ navigator: inout Navigator) {
        log.append(entry)
        navigator.tellChildren(CopyCoordinator.self) { copy, _ in copy.log.append(entry) }
    }
}

struct CopyCoordinator: Coordinator {
    fileprivate var log: [String] = []

    func start(_ navigator: inout Navigator) { navigator.push(Screen("copy")) }

    func render(_ screen: inout Screen, in context: NavigationContext) {
        screen.params = ["log": .array(log.map(JSON.string))]
    }
}
