import CoordinatorClient
import Foundation
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite(.server, .timeLimit(.minutes(10))) struct SessionTests {
    @Test func `a tap leads to the next screen, and back returns`() async throws {
        let session = try await TestServer.open("shop")

        await session.post(NavigationEvent("product", ["id": 42]))

        let state = try #require(await session.state)
        #expect(state.visible.params == ["id": 42])
        #expect(state.transition?.operations.map(\.op) == ["push"])
        await session.post(.back)
        #expect(await session.state?.visible.name == "home")
    }

    @Test func `a session goes on after a restart of the app`() async throws {
        let storage = MemoryStorage()
        let before = try await TestServer.open("shop", storage: storage)
        await before.post(NavigationEvent("product", ["id": 42]))

        let after = NavigationSession(server: try TestServer.url, storage: storage)
        let state = try await after.start(app: "shop", within: .seconds(3600))

        #expect(state.session.id == (await before.state?.session.id))
        #expect(state.visible.name == "product")
    }

    @Test func `a second tap does not act on the screen that the first one opened`() async throws {
        let session = try await TestServer.open("shop", link: "/products/42")
        let tap = NavigationEvent("related", ["id": 7])

        let outcomes = await session.postTwice(tap)

        #expect(outcomes.filter(\.isDone).count == 1)
        #expect(await session.state?.stack.first?.tabs?.items.first?.stack.count == 3)
    }

    @Test func `a form's fields are typed, and a fault is at its field`() async throws {
        let session = try await TestServer.open("clean-login")
        let form = try #require(await session.state?.controls.first { $0.type == "login" })

        let outcome = await session.post(form.event(entering: ["email": 7]))

        #expect(form.fields.map(\.kind) == [.text(format: "email"), .secret])
        guard case .invalid(let problem) = outcome else { throw Unexpected(outcome) }
        #expect(problem.errors.map(\.field).contains("email"))
    }

    @Test func `a field shows at first what the form has of it`() throws {
        let control = try JSONDecoder().decode(
            Control.self,
            from: Data(
                #"""
                {"type": "save", "title": "Save", "role": "input", "place": "screen", "schema": {"type": "object",
                "properties": {"city": {"type": "string", "default": "Rome"}, "count": {"type": "integer", "default": 3},
                "size": {"type": "string", "enum": ["s"], "oneOf": [{"const": "s", "title": "Small"}], "default": "s"},
                "street": {"type": "string"}}}}
                """#.utf8))

        let texts = Dictionary(uniqueKeysWithValues: control.fields.map { ($0.id, $0.initialText) })

        #expect(texts == ["city": "Rome", "count": "3", "size": "Small", "street": ""])
        #expect(control.fields.allSatisfy { $0.value(of: $0.initialText) == $0.initialValue })
    }

    @Test func `a sign-in replaces the token, and the new one is saved`() async throws {
        let storage = MemoryStorage()
        let session = try await TestServer.open("clean-login", storage: storage)
        let before = storage.text

        let login = ["email": "ann@example.com", "password": "correct horse"]
        #expect(await session.post(NavigationEvent("login", login)).isDone)

        #expect(storage.text != before)
        #expect(!storage.text.contains("correct horse"))
        #expect(try await NavigationSession(server: try TestServer.url, storage: storage).resume() != nil)
    }

    @Test func `an alert's button answers that alert`() async throws {
        let session = try await TestServer.open("shop", link: "/checkout")
        let alert = try #require(await session.state?.alert)

        let outcome = await session.post(.answer(alert, alert.buttons[0]))

        #expect(outcome.isDone)
        #expect(await session.state?.alert == nil)
        guard case .notNow = await session.post(.answer(alert, alert.buttons[0])) else { throw Unexpected(outcome) }
    }

    @Test func `an event that the app asks about is sent again when the user agrees`() async throws {
        let session = try await TestServer.open("shop")
        let login = ["email": "ann@example.com", "password": "correct horse"]
        let taps: [NavigationEvent] = [
            NavigationEvent("product", ["id": 42]), NavigationEvent("addToCart"), .selectTab("cart"),
            NavigationEvent("checkout"), NavigationEvent("submit", login), NavigationEvent("type", "Main"),
        ]
        for tap in taps { try #require(await session.post(tap).isDone) }
        let row = try #require(await session.state?.visible.rows?.first.flatMap { NavigationEvent($0) })

        let asked = await session.post(row)
        let alert = try #require(await session.state?.alert)
        let leave = try #require(alert.buttons.first { $0.role != .cancel })
        let agreed = await session.post(.answer(alert, leave))

        guard case .answerFirst = asked else { throw Unexpected(asked) }
        guard case .done(let state) = agreed else { throw Unexpected(agreed) }
        #expect(state.visible.name == "product")
        #expect(state.transition?.event == row.type)
    }

    @Test func `an event for another version is outdated`() async throws {
        let storage = MemoryStorage()
        let session = try await TestServer.open("shop", storage: storage)
        await (try await TestServer.another(storage)).post(.selectTab("search"))

        let outcome = await session.post(.selectTab("cart"), ifUnchanged: true)

        guard case .outdated = outcome else { throw Unexpected(outcome) }
    }

    @Test func `a device takes part with a code, and no longer once it is removed`() async throws {
        let phone = try await TestServer.open("shop")
        let television = NavigationSession(server: try TestServer.url, storage: NoStorage())
        try await television.redeem(try await phone.pairingCode(label: "TV").code.lowercased())

        let device = try #require(try await phone.devices().first { $0.isOwn != true })
        try await phone.remove(device)

        #expect(device.label == "TV")
        guard case .ended = await television.post(.selectTab("cart")) else { throw Unexpected("not ended") }
        #expect(await television.end != nil)
    }

    @Test(arguments: [NavigationSession.Following.stream, .longPoll])
    func `what another device does is drawn`(way: NavigationSession.Following) async throws {
        let storage = MemoryStorage()
        let phone = try await TestServer.open("shop", storage: storage)
        let television = try await TestServer.another(storage)
        let following = Task { await television.follow(by: way) }
        defer { following.cancel() }

        await phone.post(NavigationEvent("product", ["id": 42]))

        for await case .state(let state) in await television.updates() where state.visible.name == "product" { break }
        #expect(await television.state?.session.version == (await phone.state?.session.version))
    }

    @Test(arguments: [NavigationSession.Following.stream, .longPoll])
    func `the end of a session ends its following`(way: NavigationSession.Following) async throws {
        let storage = MemoryStorage()
        let phone = try await TestServer.open("shop", storage: storage)
        let television = try await TestServer.another(storage)
        let following = Task { await television.follow(by: way) }
        try await Task.sleep(for: .milliseconds(50))

        try await phone.close()
        await following.value

        #expect(await television.end == .ended)
        guard case .ended(.ended) = await phone.post(.back) else { throw Unexpected("not ended") }
    }

    @Test func `what back leads to is drawn before the answer, and the answer says the same`() async throws {
        let session = try await TestServer.open("shop", drawsEarly: true)
        await session.post(NavigationEvent("product", ["id": 42]))
        let updates = await session.updates()

        await session.post(.back)
        await session.post(NavigationEvent("product", ["id": 7]))

        var drawn: [String] = []
        for await case .state(let state) in updates {
            drawn.append("\(state.visible.name)\(state.isEarly ? "?" : "")")
            if drawn.count == 4 { break }
        }
        #expect(drawn == ["product", "home?", "home", "product"])
    }

    @Test(arguments: [false, true])
    func `a double tap on back, which is drawn at once, pops one screen`(namesScreen: Bool) async throws {
        let session = try await TestServer.open("shop", link: "/products/42", drawsEarly: true)
        await session.post(NavigationEvent("related", ["id": 7]))
        let seen = try #require(await session.drawn?.visible.key)

        let outcomes = await session.postTwice(.back, on: namesScreen ? seen : nil)

        #expect(outcomes.filter(\.isDone).count == 1)
        #expect(await session.state?.visible.params == ["id": 42])
    }

    @Test func `a text in a number's field is refused in words that say so`() async throws {
        let session = try await TestServer.open("shop")
        let form = try #require(await session.state?.controls.first { $0.fields.contains { $0.kind == .integer } })
        let values = form.fields.map { ($0.id, $0.value(of: "many")) }

        let outcome = await session.post(form.event(entering: Dictionary(values) { $1 }.compactMapValues { $0 }))

        guard case .invalid(let problem) = outcome else { throw Unexpected(outcome) }
        #expect(problem.errors.map(\.code) == ["type"])
    }

    @Test(arguments: [
        (#""id":"s_"#, #""id":"s\u00f6 /"#), (#""token":""#, #""token":"\n"#), (#""id""#, #""event":"x/y","id""#),
    ])
    func `a damaged storage is as good as an empty one`(damage: (String, String)) async throws {
        let storage = MemoryStorage()
        try await TestServer.open("shop", storage: storage)
        let damaged = storage.text.replacing(damage.0, with: damage.1)
        try #require(damaged != storage.text)
        try storage.save(Data(damaged.utf8))

        let session = NavigationSession(server: try TestServer.url, storage: storage)
        try await session.start(app: "shop")

        #expect(await session.post(.selectTab("cart")).isDone)
    }

    @Test func `content is fetched again only if it has changed`() async throws {
        let session = try await TestServer.open("list-detail")
        await session.post(NavigationEvent("select", ["id": 2]))
        let screen = try #require(await session.state?.visible)
        try #require(screen.hasContent == true)

        let first = try await session.content(of: screen)

        #expect(try await session.content(of: screen) == first)
        #expect(first.object?.isEmpty == false)
    }

    @Test func `what became of an event that was on the way is reported after a restart`() async throws {
        let storage = MemoryStorage()
        try await TestServer.open("shop", storage: storage)
        // As it was saved before an event that never arrived.
        let key = #""event":"00000000-1111-2222-3333-444444444444","id""#
        try storage.save(Data(storage.text.replacing(#""id""#, with: key).utf8))

        let session = NavigationSession(server: try TestServer.url, storage: storage)
        try await session.start(app: "shop")

        for await case .settled(let withdrawal) in await session.updates() {
            if case .carriedOut = withdrawal { Issue.record("it was never sent") }
            break
        }
        #expect(!storage.text.contains("event"))
    }

    @Test func `without room in the storage a session goes on, and says so`() async throws {
        let session = NavigationSession(server: try TestServer.url, storage: FullStorage())
        let updates = await session.updates()

        try await session.open(app: "shop", within: .seconds(3600))

        #expect(await session.post(.selectTab("cart")).isDone)
        for await case .storageFailed in updates { break }
    }

    @Test func `a wrong code leaves the session, and the next one takes its place`() async throws {
        let storage = MemoryStorage()
        let session = try await TestServer.open("shop", storage: storage)
        let (kept, id) = (storage.text, await session.state?.session.id)
        let following = Task { await session.follow() }
        defer { following.cancel() }
        await #expect(throws: SessionError.self) { try await session.redeem("00000000", within: .seconds(3600)) }
        #expect(storage.text == kept)
        #expect(await session.post(.selectTab("cart")).isDone)

        let next = try await session.open(app: "numbers", within: .seconds(3600))
        #expect(next.session.id != id)
        let other = try await TestServer.another(storage)
        await other.post(NavigationEvent("push", 5))

        // Who follows it follows the next one.
        for await case .state(let state) in await session.updates() where state.visible.params == ["value": 5] { break }
        #expect(await session.end == nil)
    }

    @Test(arguments: [true, false])
    func `what was cut off while it opened a session leaves the one before`(isOpen: Bool) async throws {
        let storage = MemoryStorage()
        let before = try await TestServer.open("shop", storage: storage)
        let opening = #"{"path":"v1/sessions","key":"cut-off-before-it-was-sent","body":{"app":"no-such-app"}}"#
        let cut = #""opening":\#(opening),"server""#
        var kept = storage.text.replacing(#""server""#, with: cut)
        if !isOpen { kept.replace(/"id":"[^"]*",|,"token":"[^"]*"|"token":"[^"]*",/, with: "") }
        try storage.save(Data(kept.utf8))

        let session = NavigationSession(server: try TestServer.url, storage: storage)
        let state = try await session.resume(within: .seconds(3600))

        #expect(state?.session.id == (isOpen ? await before.state?.session.id : nil))
        #expect(!storage.text.contains("opening") && storage.text.isEmpty == !isOpen)
    }

    @Test(arguments: [("de-AT", "Das geht gerade nicht."), ("en", "Event not accepted now")])
    func `a problem's words are the app's own in the user's language, or the title`(locale: String, words: String)
        async throws
    {
        // As the system says what its user reads.
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpAdditionalHeaders = ["Accept-Language": locale]
        let transport = Transport(configuration: configuration)
        let session = NavigationSession(server: try TestServer.url, storage: NoStorage(), transport: transport)
        try await session.open(app: "kiosk", client: ClientInfo(locale: locale), within: .seconds(3600))

        let outcome = await session.post(NavigationEvent("changeLanguage"))

        guard case .notNow(let problem) = outcome else { throw Unexpected(outcome) }
        #expect(problem.words == words)
    }

    @Test func `an app that is not there is refused`() async throws {
        do {
            _ = try await TestServer.open("no-such-app")
            Issue.record("it was opened")
        } catch SessionError.refused(let problem) {
            #expect(problem.kind == "unknown-app")
        }
    }

    @Test @MainActor func `a model draws, taps and shows faults`() async throws {
        let model = SessionModel(NavigationSession(server: try TestServer.url, storage: NoStorage(), drawsEarly: true))
        let running = Task { await model.run(app: "shop") }
        defer { running.cancel() }
        model.open(try #require(URL(string: "https://shop.example.com/products/42")))
        while model.state?.visible.name != "product" { try await Task.sleep(for: .milliseconds(5)) }

        _ = await model.tap(NavigationEvent("related", ["id": "x"]), within: nil).value

        #expect(model.faults.map(\.field) == ["id"])
        #expect(!model.isWaiting)
        _ = await model.tap(.back, within: nil).value
        #expect(model.faults.isEmpty)
    }
}

@Suite(.timeLimit(.minutes(10))) struct UnreachableTests {
    /// A port on which nobody listens.
    static let nobody = URL(string: "http://127.0.0.1:9") ?? .currentDirectory()

    @Test func `an app without a server gives up in time`() async {
        let session = NavigationSession(server: UnreachableTests.nobody, storage: NoStorage())

        await #expect(throws: SessionError.self) { try await session.open(app: "shop", within: .milliseconds(300)) }
    }

    @Test func `an event before the session is refused, and one that is no JSON`() async throws {
        let session = NavigationSession(server: UnreachableTests.nobody, storage: NoStorage())

        guard case .failed(.notOpen) = await session.post(.back) else { throw Unexpected("sent") }
        guard case .failed(.payload) = await session.post(NavigationEvent("price", Double.nan)) else {
            throw Unexpected("sent")
        }
    }
}

/// An outcome that a test does not expect.
struct Unexpected: Error {
    let what: String
    init(_ what: some Any) { self.what = "\(what)" }
}
