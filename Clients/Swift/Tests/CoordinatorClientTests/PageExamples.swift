import CoordinatorClient
import Foundation
import Testing

// The code of README.md, in its order.

private func drawsAnApp(server: URL, file: URL) async throws {
    let session = NavigationSession(server: server, storage: FileStorage(file))
    var state = try await session.start(app: "shop")
    print(state.visible.title ?? state.visible.name)  // Home

    if case .done(let next) = await session.post(NavigationEvent("product", ["id": 42])) { state = next }
    print(state.visible.title ?? state.visible.name)  // Product 42
    print(state.back?.to ?? "no back button")  // the key of the screen that `back` leads to
    for control in state.controls where control.place == .screen { print(control.title, control.role) }
}

/// Draws any app in a terminal, and posts what is typed: a number, `b` for back, or nothing to draw again.
func drawInATerminal(_ session: NavigationSession) async throws {
    try await session.start(app: "shop")
    let following = Task { await session.follow() }  // ends at `.ended`, too
    defer { following.cancel() }
    while let state = await session.drawn, await session.end == nil {
        var choices: [(title: String, control: Control?, event: NavigationEvent)] = []
        print("\n== \(state.alert?.title ?? state.visible.title ?? state.visible.name)")
        if let alert = state.alert {
            for button in alert.buttons { choices.append((button.title, nil, .answer(alert, button))) }
        } else {
            if let params = state.visible.params { print(params) }
            for row in state.visible.rows ?? [] {
                guard let event = NavigationEvent(row) else { print(row.title); continue }
                choices.append((row.title, nil, event))
            }
            for control in state.controls where control.coordinator != nil {
                choices.append((control.title, control, control.event()))
            }
            for tab in (state.presented.last?.stack ?? state.stack).last?.tabs?.items ?? [] {
                choices.append((tab.title ?? tab.id, nil, .selectTab(tab.id)))
            }
        }
        for (number, choice) in choices.enumerated() { print(number + 1, choice.title) }
        if state.back != nil { print("b back") }
        guard let line = readLine() else { return }
        var event: NavigationEvent = .back
        if line != "b" {
            guard let number = Int(line), choices.indices.contains(number - 1) else { continue }
            var values: [String: JSONValue] = [:]
            for field in choices[number - 1].control?.fields ?? [] {
                print(field.title, terminator: ": ")
                values[field.id] = field.value(of: readLine() ?? "")
            }
            event = choices[number - 1].control?.event(entering: values) ?? choices[number - 1].event
        }
        switch await session.post(event, on: state.visible.key) {  // the screen that the user saw
        case .invalid(let problem): for fault in problem.errors { print(fault.field ?? "value", fault.detail) }
        case .notNow(let problem) where problem.kind != "stale-screen": print(problem.words)
        case .withdrawn(let withdrawal): print("No connection: \(withdrawal)")
        case .failed(let error): print(error)
        default: break
        }
    }
}

private func taps(session: NavigationSession) async {
    await session.post(NavigationEvent("addToCart"))
    await session.post(.selectTab("cart"))
    await session.post(.back)
}

private func tapsTwice(session: NavigationSession, state: NavigationState) async {
    await session.post(.back, on: state.visible.key)  // `state` is what the user saw
}

private func offers(state: NavigationState) {
    let row = state.visible.rows?.first.flatMap { NavigationEvent($0) }  // nil: only text, or cannot be tapped now
    let button = state.controls.first { $0.role == .primary }?.event()
    _ = (row, button)
}

private func outcomes(session: NavigationSession, event: NavigationEvent) async {
    switch await session.post(event) {
    case .done(let state): draw(state)
    case .invalid(let problem): show(problem.errors)  // 422: at the fields of the form
    case .answerFirst: break  // 409: the app asks first; its alert is drawn
    case .notNow(let problem): show(problem)  // 409: where the app is now is drawn
    case .outdated(let problem): show(problem)  // 412: only with `ifUnchanged: true`
    case .ended(let reason): offerNewStart(reason)  // 401, 410: start again
    case .withdrawn(let withdrawal): show(withdrawal)  // no answer until the deadline
    case .failed(let error): show(error)
    }
}

private func fillsAForm(session: NavigationSession, state: NavigationState) async {
    guard let form = state.controls.first(where: { $0.type == "submit" }) else { return }
    var values: [String: JSONValue] = [:]
    for field in form.fields {  // E-mail: .text(format: "email"); Password: .secret
        values[field.id] = field.value(of: text(for: field))
    }
    if case .invalid(let problem) = await session.post(form.event(entering: values)) {
        for fault in problem.errors { print(fault.field ?? "the value", fault.detail) }
    }
}

private func alertsAndLinks(session: NavigationSession, state: NavigationState) async {
    if let alert = state.alert, let button = alert.buttons.first {
        await session.post(.answer(alert, button))  // of this alert: an earlier one's button answers nothing
    }
    await session.post(.open("https://shop.example.com/products/42"))  // as the system hands it over
}

private func follows(session: NavigationSession) async {
    let following = Task { await session.follow() }
    for await update in await session.updates() {
        switch update {
        case .state(let state): draw(state)
        case .connected: hideBanner()
        case .disconnected(let pause): showBanner(pause)  // `session.retryNow()` tries at once
        case .settled(let withdrawal): show(withdrawal)  // of an event that the last start left open
        case .ended(let reason): offerNewStart(reason)
        case .storageFailed(let error): log(error)
        }
    }
    following.cancel()
}

private func withdraws(session: NavigationSession) async {
    let tap = Task { await session.post(NavigationEvent("pay", ["card": "4242 4242 4242 4242"]), within: .seconds(20)) }
    tap.cancel()  // the user gives up, or the 20 seconds pass
    if case .withdrawn(let withdrawal) = await tap.value {
        switch withdrawal {
        case .carriedOut: print("It was done; that is drawn.")
        case .notCarriedOut: print("It was not done, and will not be.")
        case .unknown: print("Unknown until there is a connection; `.settled` reports it.")
        }
    }
}

private func pairs(phone: NavigationSession, television: NavigationSession) async throws {
    let code = try await phone.pairingCode(label: "TV").code  // to be typed within two minutes
    try await television.redeem(code)
    for device in try await phone.devices() where device.isOwn != true { try await phone.remove(device) }
}

private func readsContent(session: NavigationSession, state: NavigationState) async throws {
    for screen in state.stack where screen.hasContent == true {
        let content = try await session.content(of: screen)
        print(content["title"]?.string ?? "")
    }
}

struct DefaultsStorage: SessionStorage {  // the token is a secret: for trials only
    func load() throws -> Data? { UserDefaults.standard.data(forKey: "session") }
    func save(_ data: Data?) throws { UserDefaults.standard.set(data, forKey: "session") }
}

private func draw(_ state: NavigationState) {}
private func show(_ what: Any) {}
private func showBanner(_ pause: Duration) {}
private func hideBanner() {}
private func offerNewStart(_ reason: SessionEnd) {}
private func log(_ error: any Error) {}
private func text(for field: FormField) -> String { field.example?.description ?? "" }

@Suite(.server, .timeLimit(.minutes(10))) struct PageExamples {
    @Test func `the page's first program draws a product`() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }

        try await drawsAnApp(server: try TestServer.url, file: file)

        let session = NavigationSession(server: try TestServer.url, storage: FileStorage(file))
        #expect(try await session.resume()?.visible.name == "product")
        let state = try #require(await session.state)
        await taps(session: session)
        offers(state: state)
        await outcomes(session: session, event: .selectTab("home"))
        try await readsContent(session: session, state: state)
        await withdraws(session: session)
    }

    @Test func `the page's form, alert, pairing and following work`() async throws {
        let session = try await TestServer.open("shop", link: "/checkout")
        let state = try #require(await session.state)
        await alertsAndLinks(session: session, state: state)
        await fillsAForm(session: session, state: state)
        let television = NavigationSession(server: try TestServer.url, storage: NoStorage())
        try await pairs(phone: session, television: television)
        #expect(try await session.devices().count == 1)
        let following = Task { await follows(session: session) }
        following.cancel()
        await following.value
        #expect(try DefaultsStorage().load() == nil)
    }
}
