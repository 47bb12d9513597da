// driver: what the repository's fault tests drive, with nothing but the library's public functions.
//
//     driver walk --server URL --storage DIR [--code CODE] [--deadline SECONDS] [--early]
//     driver predict        reads lines {"state": …, "event": …}, and writes what would be drawn early
//     driver marks --server URL --storage DIR [--code CODE]
//
// Tests/Clients/libraries.py describes the first two, Tests/Servers/library.py the third.
import CoordinatorClient
import Foundation

func option(_ name: String) -> String? {
    let arguments = CommandLine.arguments
    guard let index = arguments.firstIndex(of: name), index + 1 < arguments.count else { return nil }
    return arguments[index + 1]
}

switch CommandLine.arguments.dropFirst().first {
case "walk": await walk()
case "predict": predict()
case "marks": await marks()
default: finish(["failed": "usage: driver walk --server URL --storage DIR | driver predict"], code: 64)
}

/// Written at once: a test reads the lines while the driver runs, and may kill it.
func write(_ line: JSONValue) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }

func finish(_ line: JSONValue, code: Int32) -> Never {
    write(line)
    exit(code)
}

// MARK: Walking to the receipt

func walk() async {
    guard let server = option("--server").flatMap({ URL(string: $0) }), let directory = option("--storage") else {
        finish(["failed": "--server and --storage are missing"], code: 64)
    }
    let storage = FileStorage(URL(filePath: directory).appending(path: "session.json"))
    let session = NavigationSession(
        server: server, storage: storage, drawsEarly: CommandLine.arguments.contains("--early"))
    do {
        // The deadline is for taps.
        if try await session.resume(within: .seconds(3600)) == nil {
            if let code = option("--code") {
                try await session.redeem(code, within: .seconds(3600))
            } else {
                try await session.open(app: "shop", within: .seconds(3600))
            }
        }
    } catch .ended(let reason) {
        finish(["ended": .string(reason.rawValue)], code: 4)
    } catch {
        finish(["failed": .string("\(error)")], code: 3)
    }
    await Walker(session: session, limit: .seconds(option("--deadline").flatMap { Double($0) } ?? 3600)).run()
}

/// A user who buys product 42: one tap at a time, chosen from what is drawn.
struct Walker {
    enum Happening: Sendable {
        case update(SessionUpdate)
        case outcome(NavigationEvent, Outcome)
    }

    let session: NavigationSession
    let limit: Duration

    func run() async {
        let (happenings, continuation) = AsyncStream<Happening>.makeStream()
        let updates = await session.updates()
        Task { for await update in updates { continuation.yield(.update(update)) } }
        Task { await session.follow() }
        var drawn: NavigationState?
        var isTapping = false
        for await happening in happenings {
            switch happening {
            case .update(.state(let state)):
                drawn = state
                write([
                    "version": .integer(Int64(state.session.version)), "visible": .string(state.visible.name),
                    "early": .bool(state.isEarly),
                ])
            case .update(.ended(let reason)): finish(["ended": .string(reason.rawValue)], code: 4)
            case .update: break
            case .outcome(let event, let outcome):
                isTapping = false
                report(outcome, of: event)
            }
            // What the session has and is not drawn yet is on its way.
            guard let state = drawn, !state.isEarly, await state == session.state, !isTapping else { continue }
            if state.visible.name == "receipt" {
                finish(["done": true, "visible": "receipt", "session": .string(state.session.id)], code: 0)
            }
            guard let event = step(from: state) else { continue }
            isTapping = true
            Task { continuation.yield(.outcome(event, await session.post(event, within: limit))) }
        }
    }

    private func report(_ outcome: Outcome, of event: NavigationEvent) {
        switch outcome {
        case .done, .answerFirst, .notNow, .outdated: break
        case .ended(let reason): finish(["ended": .string(reason.rawValue)], code: 4)
        case .withdrawn(let withdrawal):
            write(["withdrawn": .string(event.type), "outcome": .string(name(of: withdrawal))])
        case .invalid, .failed: finish(["failed": .string("\(outcome)")], code: 3)
        }
    }

    /// The next tap; `nil` if there is nothing to do but wait.
    private func step(from state: NavigationState) -> NavigationEvent? {
        if let alert = state.alert {
            return (alert.buttons.first { $0.role != .cancel } ?? alert.buttons.first).map { .answer(alert, $0) }
        }
        let cart = (state.presented.first?.stack ?? state.stack).first?.tabs?.items.first { $0.id == "cart" }
        let isFilled = cart?.stack.first?.params?["items"]?.array?.isEmpty == false
        switch state.visible.name {
        case "home" where !isFilled: return NavigationEvent("product", ["id": 42])
        case "product" where !isFilled: return NavigationEvent("addToCart")
        case "cart" where !isFilled: return .selectTab("home")
        case "home", "product", "search": return .selectTab("cart")
        default:
            // What leads on in the checkout: the button that stands out, or the largest form.
            let own = state.controls.filter { $0.place == .screen && $0.coordinator != nil && $0.type != "type" }
            let control = own.first { $0.role == .primary } ?? own.max { $0.fields.count < $1.fields.count }
            return control?.event(entering: values(of: control))
        }
    }

    /// What the user enters: the examples, and the secrets, which no server shows.
    private func values(of control: Control?) -> [String: JSONValue] {
        var values: [String: JSONValue] = ["password": "correct horse", "card": "4242 4242 4242 4242"]
        for field in control?.fields ?? [] { values[field.id] = values[field.id] ?? field.example }
        return values
    }
}

// MARK: Posting marks

/// Posts the events that come line by line, and prints each state that is drawn and each outcome.
func marks() async {
    guard let server = option("--server").flatMap({ URL(string: $0) }), let directory = option("--storage") else {
        finish(["failed": "--server and --storage are missing"], code: 64)
    }
    let session = NavigationSession(
        server: server, storage: FileStorage(URL(filePath: directory).appending(path: "session.json")))
    let updates = await session.updates()
    Task {
        for await update in updates {
            switch update {
            case .state(let state): write(["drawn": logs(of: state)])
            case .settled(let withdrawal): write(["settled": .string(name(of: withdrawal))])
            case .ended(let reason): finish(["ended": .string(reason.rawValue)], code: 4)
            default: break
            }
        }
    }
    do {
        if try await session.resume(within: .seconds(3600)) == nil {
            try await session.redeem(option("--code") ?? "", within: .seconds(3600))
        }
    } catch {
        finish(["failed": .string("\(error)")], code: 3)
    }
    write(["ready": "new"])
    Task { await session.follow() }
    let (lines, continuation) = AsyncStream<String>.makeStream()
    Thread.detachNewThread {
        while let line = readLine() { continuation.yield(line) }
        exit(0)
    }
    for await line in lines {
        guard let event = try? JSONValue(parsing: line), let type = event["type"]?.string else {
            finish(["failed": "not an event"], code: 3)
        }
        let limit = event["deadline"]?.integer ?? 30
        let outcome = await session.post(
            NavigationEvent(type, payload: event["payload"]), within: .seconds(limit))
        write(report(outcome))
    }
}

func logs(of state: NavigationState) -> JSONValue {
    let logs = state.stack.first?.tabs?.items.map { $0.stack.first?.params?["log"] ?? .null } ?? [.null, .null]
    return ["version": .integer(Int64(state.session.version)), "log": logs[0], "copy": logs[1]]
}

func name(of withdrawal: Withdrawal) -> String {
    switch withdrawal {
    case .carriedOut: "carried-out"
    case .notCarriedOut: "not-carried-out"
    case .unknown: "unknown"
    }
}

func report(_ outcome: Outcome) -> JSONValue {
    switch outcome {
    case .done(let state): ["outcome": "accepted", "state": logs(of: state)]
    case .withdrawn(let withdrawal): ["outcome": .string(name(of: withdrawal))]
    case .ended(let end): ["outcome": "ended", "problem": .string(end.rawValue)]
    case .invalid(let problem), .answerFirst(let problem), .notNow(let problem), .outdated(let problem),
        .failed(.refused(let problem)):
        ["outcome": "failed", "problem": .string(problem.kind)]
    case .failed(let error): ["outcome": "failed", "problem": .string("\(error)")]
    }
}

// MARK: Predicting

func predict() {
    struct Step: Decodable {
        let state: NavigationState
        let event: JSONValue
    }
    while let line = readLine() {
        guard let step = try? JSONValue(parsing: line)?.decoded(as: Step.self), let type = step.event["type"]?.string
        else { finish(["failed": "not a state and an event"], code: 3) }
        guard let next = step.state.predicted(after: NavigationEvent(type, payload: step.event["payload"])) else {
            write(.null)
            continue
        }
        var (stack, tab) = (next.presented.last?.stack ?? next.stack, JSONValue.null)
        while let tabs = stack.last?.tabs, let selected = tabs.items.first(where: { $0.id == tabs.selected }) {
            (stack, tab) = (selected.stack, .string(tabs.selected))
        }
        write([
            "visible": .string(next.visible.key), "stack": .array(stack.map { .string($0.key) }), "tab": tab,
        ])
    }
}
