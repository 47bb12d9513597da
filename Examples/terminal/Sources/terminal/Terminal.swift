import CoordinatorClient
import Foundation

#if canImport(Glibc)
import Glibc
#endif

/// A session in a terminal: the newest state, and the choices that it offers.
@MainActor final class Terminal {
    private let session: NavigationSession
    private var drawn: NavigationState?
    private var choices: [Choice] = []
    private let isInteractive = isatty(STDIN_FILENO) != 0
    /// What the user is asked at present.
    private var prompt: String?

    /// Something that the user can choose, by its number or its words.
    private struct Choice {
        let title: String
        let action: Action
    }

    private enum Action {
        case post(NavigationEvent)
        case fill(Control)
    }

    init(session: NavigationSession) { self.session = session }

    /// Reads lines until there are no more, or the session is over.
    func run() async {
        let updates = await session.updates()
        let listening = Task { for await update in updates { receive(update) } }
        let following = Task { await session.follow() }
        defer {
            listening.cancel()
            following.cancel()
        }
        while await session.end == nil {
            if let state = await session.drawn { await draw(state) }
            guard let line = await ask("> ") else { break }
            await carryOut(line)
        }
        show("")
    }

    private func receive(_ update: SessionUpdate) {
        switch update {
        case .state(let state):
            Task {
                guard state != drawn else { return }
                await draw(state)
                if let prompt { show(prompt, terminator: "") }
            }
        case .disconnected(let pause):
            say("No connection. Trying again in \(pause.components.seconds + 1) s.")
        case .connected: say("Connected again.")
        case .settled(.notCarriedOut): say("What you did last was not done.")
        case .settled, .storageFailed: break
        case .ended(let reason):
            say("The session is over (\(reason.rawValue)).")
            exit(0)
        }
    }

    // MARK: What the user does

    private func carryOut(_ line: String) async {
        guard let state = drawn else { return }
        switch line.lowercased() {
        case "": break
        case "q": exit(0)
        case "b" where state.back != nil: await post(.back)
        case "c" where canClose(state): await post(.dismiss())
        case "o": if let link = await ask("Link: ") { await post(.open(link)) }
        case "p": await pair()
        case "r" where state.events.contains("relaunch"): await post(.relaunch)
        case "?": redraw()
        default:
            guard let choice = choice(line) else { return say("There is no “\(line)” here.") }
            switch choice.action {
            case .post(let event): await post(event)
            case .fill(let control): await fill(control)
            }
        }
    }

    private func choice(_ text: String) -> Choice? {
        if let number = Int(text) { return choices.indices.contains(number - 1) ? choices[number - 1] : nil }
        let isMeant = { (choice: Choice) in choice.title.lowercased() == text.lowercased() }
        return choices.first(where: isMeant) ?? choices.first { $0.title.lowercased().hasPrefix(text.lowercased()) }
    }

    /// Asks for each field, and again for those that do not fit. A line with a single dot gives the form up.
    private func fill(_ control: Control) async {
        var values: [String: JSONValue] = [:]
        var open = control.fields
        while true {
            for field in open {
                guard let text = await ask(prompt(for: field), hidden: field.kind == .secret), text != "." else {
                    return
                }
                let entered = text.isEmpty ? offered(for: field) : text
                values[field.id] = field.value(of: entered)
            }
            guard case .invalid(let problem) = await post(control.event(entering: values)) else { return }
            let wrong = Set(problem.errors.map { $0.field ?? "" })
            open = open.filter { wrong.contains($0.id) }
            if open.isEmpty { return }
        }
    }

    private func prompt(for field: FormField) -> String {
        var hints: [String] = []
        if case .choice(let choices) = field.kind { hints.append(choices.map(\.title).joined(separator: ", ")) }
        if case .text(let format?) = field.kind { hints.append(format) }
        if field.kind == .json { hints.append("JSON") }
        if !field.isRequired { hints.append("may be empty") }
        let hint = hints.isEmpty ? "" : " (\(hints.joined(separator: "; ")))"
        let offered = offered(for: field)
        return "  \(field.title)\(hint)\(offered.isEmpty ? "" : " [\(offered)]"): "
    }

    /// What an empty line stands for.
    private func offered(for field: FormField) -> String {
        field.initialValue == nil ? field.example?.description ?? "" : field.initialText
    }

    @discardableResult
    private func post(_ event: NavigationEvent) async -> Outcome {
        // Work in the background may take a while; what comes meanwhile is drawn.
        let outcome = await session.post(event, within: .seconds(60), wait: 10)
        switch outcome {
        case .done(let state):
            if let pairing = state.pairing { say("Code for another device: \(pairing.code)") }
        case .invalid(let problem):
            for fault in problem.errors { say("\(fault.field ?? "value"): \(fault.detail)") }
            if problem.errors.isEmpty { say(problem.detail ?? problem.title) }
        case .answerFirst, .ended: break
        case .notNow(let problem), .outdated(let problem): say(problem.detail ?? problem.title)
        case .withdrawn(let withdrawal): say("No connection: given up (\(withdrawal)).")
        case .failed(.refused(let problem)): say(problem.detail ?? problem.title)
        case .failed(let error): say("\(error)")
        }
        return outcome
    }

    private func pair() async {
        do {
            say("Code for another device: \(try await session.pairingCode().code)")
        } catch {
            say("\(error)")
        }
    }

    // MARK: What the user sees

    private func redraw() { drawn = nil }

    private func draw(_ state: NavigationState) async {
        guard state != drawn else { return }
        drawn = state
        choices = []
        let line = String(repeating: "─", count: 60)
        show("\n\(line)")
        for flow in state.presented.dropLast() { show("  (\(title(of: flow.stack))) below") }
        show("  \(title(state.visible))\(state.pending.isEmpty ? "" : "   …")\(state.isEarly ? "   ⋯" : "")\n\(line)")
        if let alert = state.alert {
            show("  ! \(alert.title)\(alert.message.map { ": \($0)" } ?? "")")
            for button in alert.buttons where button.isEnabled != false {
                offer(button.title, .post(.answer(alert, button)))
            }
            return
        }
        for (name, value) in (state.visible.params?.object ?? [:]).sorted(by: { $0.key < $1.key }) {
            show("  \(words(name)): \(value)")
        }
        for row in state.visible.rows ?? [] {
            let text = [row.isSelected.map { $0 ? "✓ \(row.title)" : "  \(row.title)" } ?? row.title, row.detail]
                .compactMap { $0 }.joined(separator: "  ·  ")
            if let event = NavigationEvent(row) { offer(text, .post(event)) } else { show("      \(text)") }
        }
        for control in state.controls where control.coordinator != nil {
            let isForm = !control.fields.isEmpty
            offer(
                control.title + (isForm ? " …" : ""),
                isForm ? .fill(control) : .post(control.event()))
        }
        drawTabs(of: state.presented.last?.stack ?? state.stack)
        show("  \(keys(of: state).joined(separator: "   "))")
        if state.visible.hasContent == true, let content = try? await session.content(of: state.visible) {
            show("  \(content)")
        }
    }

    private func offer(_ title: String, _ action: Action) {
        choices.append(Choice(title: title.replacing(" …", with: ""), action: action))
        show("  \(choices.count < 10 ? " " : "")\(choices.count)  \(title)")
    }

    /// The tabs on screen, the innermost last.
    private func drawTabs(of stack: [Screen]) {
        guard let tabs = stack.last?.tabs else { return }
        var titles: [String] = []
        for tab in tabs.items {
            let title = (tab.title ?? words(tab.id)) + (tab.badge.map { " (\($0))" } ?? "")
            choices.append(Choice(title: tab.title ?? words(tab.id), action: .post(.selectTab(tab.id))))
            titles.append(tab.id == tabs.selected ? "\(choices.count) [\(title)]" : "\(choices.count) \(title)")
        }
        show("  tabs:  \(titles.joined(separator: "   "))")
        if let selected = tabs.items.first(where: { $0.id == tabs.selected }) { drawTabs(of: selected.stack) }
    }

    private func keys(of state: NavigationState) -> [String] {
        var keys: [String] = []
        if let back = state.back {
            let to = (state.stack + state.presented.flatMap(\.stack)).lazy.compactMap { self.find(back.to, in: $0) }
                .first
            keys.append("b back\(to.map { " to \(title($0))" } ?? "")\(back.asks == true ? " (asks)" : "")")
        }
        if canClose(state) { keys.append("c close") }
        if state.events.contains("open") { keys.append("o open a link") }
        return keys + ["p pair", "q quit"]
    }

    private func canClose(_ state: NavigationState) -> Bool { state.events.contains("dismiss") }

    private func find(_ key: String?, in screen: Screen) -> Screen? {
        if screen.key == key { return screen }
        return screen.tabs?.items.flatMap(\.stack).lazy.compactMap { self.find(key, in: $0) }.first
    }

    private func title(_ screen: Screen) -> String { screen.title ?? words(screen.name) }

    private func title(of stack: [Screen]) -> String { stack.last.map(title) ?? "" }

    /// “firstName” as “First name”.
    private func words(_ name: String) -> String {
        let text = name.reduce(into: "") { $0 += $1.isUppercase ? " \($1.lowercased())" : String($1) }
        return text.prefix(1).uppercased() + text.dropFirst()
    }

    /// At once, also in a pipe.
    private func show(_ text: String, terminator: String = "\n") {
        FileHandle.standardOutput.write(Data((text + terminator).utf8))
    }

    private func say(_ message: String) { show("  » \(message)") }

    // MARK: The keyboard

    /// A line of input; `nil` at its end. Meanwhile, what happens elsewhere is drawn.
    private func ask(_ prompt: String, hidden: Bool = false) async -> String? {
        show(prompt, terminator: "")
        self.prompt = prompt
        defer { self.prompt = nil }
        let isHidden = hidden && isInteractive
        if isHidden { setEcho(false) }
        let line = await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: readLine()) }
        }
        if isHidden { setEcho(true) }
        // What a pipe sends is not on the screen.
        if !isInteractive || isHidden { show(hidden ? "•••" : line ?? "") }
        return line?.trimmingCharacters(in: .whitespaces)
    }

    private func setEcho(_ isOn: Bool) {
        var settings = termios()
        guard tcgetattr(STDIN_FILENO, &settings) == 0 else { return }
        if isOn { settings.c_lflag |= tcflag_t(ECHO) } else { settings.c_lflag &= ~tcflag_t(ECHO) }
        tcsetattr(STDIN_FILENO, TCSANOW, &settings)
    }
}
