import Coordinators
import CoordinatorsTesting
import JSONCoding
import TestSupport
import Testing

extension CoordinatorTester {
    mutating func order(_ orders: StationOrder...) async throws(Failure) {
        try await send(StationCoordinator.Event.order(orders))
    }

    /// What the stations have logged, parents first.
    var logs: [[String]] { state.coordinators.compactMap { ($0.coordinator as? StationCoordinator)?.log } }

    /// What the root has logged.
    var log: [String] { logs[0] }

    /// What is under way, with the milliseconds until a timer is due.
    var work: [String] {
        pending.map { work in
            work.due.map { "\(work.id): \(work.signal ?? "") in \($0.milliseconds - now.milliseconds)" }
                ?? "\(work.id): \(work.effect ?? "")"
        }
    }

    /// Expects that an order is refused with a reason, and changes nothing.
    mutating func expectRefusal(
        _ orders: StationOrder..., reason: String, sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        let before = state
        let failure = await #expect(throws: Failure.self, sourceLocation: sourceLocation) {
            try await send(StationCoordinator.Event.order(orders))
        }
        #expect("\(failure.map(String.init(describing:)) ?? "")".contains(reason), sourceLocation: sourceLocation)
        #expect(state == before, sourceLocation: sourceLocation)
    }
}

/// Effects, timers and signals as the engine sees them: part of the state, carried out as transitions.
@Suite(.simulatedTime) struct SignalTests {
    // MARK: Effects

    @Test func `back that was held up goes on under an alert that a timer has shown meanwhile`() async throws {
        var app = try await CoordinatorTester(SignalApp.app)
        try await app.order(.push("seats"), .wait("news", seconds: 1), .react([.ask("News")]), .guardScreens)
        try await app.back()
        try await app.advance(by: .seconds(1))
        #expect(app.state.alerts.map(\.alert.title) == ["Leave?", "News"])

        try await app.answer("leave")

        #expect(app.stack == "station")
        #expect(app.state.alerts.map(\.alert.title) == ["News"])
    }

    @Test func `an effect is under way after the transition that recorded it, and ends with one signal`() async throws {
        var app = try await CoordinatorTester(SignalApp.app)

        try await app.order(.perform(.work("tea"), id: "kettle"))

        #expect(app.work == ["kettle: work"])
        #expect(app.pending.first?.since == CoordinatorTester.someTime)
        let number = try #require(app.pending.first?.number)
        try await app.performEffects()
        #expect(app.log == ["done(\"tea\")"])
        #expect(app.work == [])
        #expect(app.transition.cause == .effect)
        #expect(app.transition.event == "done")
        #expect(try SignalApp.app.begin(.effect(number, .done(nil)), on: app.state, at: app.now) == nil)
        #expect(SignalApp.app.dropping(number, from: app.state) == nil)
    }

    @Test func `an effect that ends without a signal calls nobody`() async throws {
        var app = try await CoordinatorTester(SignalApp.app)
        try await app.order(.perform(.note))

        try await app.performEffects()

        #expect(app.work == [])
        #expect(app.log == [])
        #expect(app.transition.event == "note")
        #expect(app.transition.cause == .effect)
        #expect(app.transition.operations == [])
    }

    @Test func `the same id replaces earlier work, whose outcome is discarded`() async throws {
        var app = try await CoordinatorTester(SignalApp.app)
        try await app.order(.perform(.work("first"), id: "x"))
        let first = try #require(app.pending.first?.number)

        try await app.order(.perform(.work("second"), id: "x"))

        #expect(app.pending.count == 1)
        #expect(try SignalApp.app.begin(.effect(first, .done(nil)), on: app.state, at: app.now) == nil)
        try await app.performEffects()
        #expect(app.log == ["done(\"second\")"])

        // A timer replaces an effect as well, and the other way round.
        try await app.order(.perform(.note, id: "x"), .wait("later", seconds: 5, id: "x"))
        #expect(app.work == ["x: due in 5000"])
        try await app.order(.perform(.note, id: "x"))
        #expect(app.work == ["x: note"])
    }

    @Test func `by default the id is the name of the case`() async throws {
        var app = try await CoordinatorTester(SignalApp.app)

        try await app.order(.perform(.note), .perform(.work("a")), .perform(.work("b")), .wait("c", seconds: 1))

        #expect(app.work == ["note: note", "work: work", "due: due in 1000"])
    }

    @Test func `ids are unique in a coordinator, not in a session`() async throws {
        var app = try await CoordinatorTester(SignalApp.app)
        try await app.order(.perform(.work("root"), id: "x"), .open([.perform(.work("child"), id: "x")]))
        #expect(app.work == ["x: work", "x: work"])

        try await app.order(.cancel("x"))

        try await app.performEffects()
        #expect(app.logs == [["done(\"root\")"], []])
    }

    @Test func `cancelled work is over, and an id that nobody has is no error`() async throws {
        var app = try await CoordinatorTester(SignalApp.app)
        try await app.order(.perform(.note, id: "a"), .wait("b", seconds: 1, id: "b"))

        try await app.order(.cancel("a"), .cancel("b"), .cancel("c"))

        #expect(app.work == [])
    }

    @Test func `work ends with its coordinator`() async throws {
        let work: [StationOrder] = [.perform(.note, id: "effect"), .wait("timer", seconds: 1, id: "timer")]
        var app = try await CoordinatorTester(SignalApp.app)

        try await app.order(.open(work))
        #expect(app.pending.count == 2)
        try await app.order(.finish)
        #expect(app.work == [])

        try await app.order(.open(work))
        try await app.back()
        #expect(app.work == [])

        try await app.order(.wait("mine", seconds: 9, id: "mine"), .open(work), .endChildren)
        #expect(app.work == ["mine: due in 9000"])

        try await app.order(.perform(.note, id: "effect"))
        try await app.relaunch()
        #expect(app.work == [])
        try app.state.checkInvariants()
    }

    @Test func `a coordinator that has asked to finish cannot begin anything`() async throws {
        var app = try await CoordinatorTester(SignalApp.app)
        try await app.order(.open())

        await app.expectRefusal(.finish, .perform(.note), reason: "it has already asked to finish")
        await app.expectRefusal(.finish, .wait("x", seconds: 1), reason: "it has already asked to finish")
    }

    @Test func `a session has 64 effects and timers at most`() async throws {
        var app = try await CoordinatorTester(SignalApp.app)
        try await app.order(.many(64))

        await #expect(throws: CoordinatorTester.Failure(.workLimit(coordinator: "station"))) {
            try await app.order(.perform(.note, id: "another"))
        }

        try await app.order(.perform(.work("instead"), id: "63"))
        #expect(app.pending.count == 64)
    }

    @Test func `work counts as part of the state's size`() async throws {
        let app = SignalApp.make(sizeLimit: 1024)
        var session = try await CoordinatorTester(app)
        let text = String(repeating: "x", count: 1000)

        let failure = await #expect(throws: CoordinatorTester.Failure.self) {
            try await session.order(.perform(.work(text), id: "x"))
        }

        #expect(failure?.reason == .stateLimit(bytes: 1024))
        try await session.order(.perform(.work(String(repeating: "x", count: 300)), id: "x"))
    }

    @Test func `what cannot be saved is refused with its reason`() async throws {
        var app = try await CoordinatorTester(SignalApp.app)

        await app.expectRefusal(.perform(.locked("canary")), reason: "it holds a secret, which is not saved")
        await app.expectRefusal(.secretSignal, reason: "it holds a secret, which is not saved")
        await app.expectRefusal(.fragile, reason: "the effect cannot be decoded again")
        await app.expectRefusal(.foreignEffect, reason: "it is no Effect of this coordinator")
        await app.expectRefusal(.foreignSignal, reason: "it is no Signal of this coordinator")
        await app.expectRefusal(.oddSignal, reason: "“schedule(odd)/odd/_0” to be saved")
    }

    @Test func `a failed effect is repeated, then its coordinator is told`() async throws {
        var app = try await CoordinatorTester(SignalApp.app)
        try await app.order(.perform(.stumble))
        try await app.performEffects()
        #expect(app.log == ["done(\"attempt 3\")"])

        try await app.order(.porter)
        try await app.send(PorterCoordinator.Event.file)
        try await app.performEffects()

        #expect((app.state.coordinators.last?.coordinator as? PorterCoordinator)?.log == ["file failed: TestError"])
        #expect(app.transition.event == "file")
        #expect(app.work == [])
    }

    @Test func `the same effect has the same id in each attempt, and another one has another`() async throws {
        var app = try await CoordinatorTester(SignalApp.app)
        try await app.order(.perform(.look, id: "a"), .perform(.look, id: "b"))
        let before = app

        try await app.performEffects()
        var again = before
        try await again.performEffects()

        #expect(app.log == again.log)
        #expect(app.log.count == 2 && Set(app.log).count == 2)
        #expect(app.log.allSatisfy { $0.contains(" of \(CoordinatorTester.someID) at 0") })
    }

    // MARK: Errors

    @Test func `a failure that nobody handles is an error of the coordinator`() async throws {
        var app = try await CoordinatorTester(SignalApp.app)
        try await app.order(.perform(.refuse(retries: 0)))

        let failure = await #expect(throws: CoordinatorTester.Failure.self) { try await app.performEffects() }

        guard case .handlerFailed("station", "effectDidFail(refuse)", let error)? = failure?.reason else {
            Issue.record("\(failure?.reason as Any)")
            return
        }
        #expect(error.type == "TestError")
        #expect(app.work == ["refuse: refuse"])
        let number = try #require(app.pending.first?.number)
        let dropped = try #require(SignalApp.app.dropping(number, from: app.state))
        #expect(dropped.state.pending == [])
        #expect(dropped.transition == Transition(event: "refuse", cause: .effect))
    }

    @Test func `the app's alert for an error ends the effect, and changes nothing else`() async throws {
        let app = SignalApp.make(onError: { error, _ in Alert("\(type(of: error))") })
        var session = try await CoordinatorTester(app)
        try await session.order(.perform(.refuse(retries: 1)))
        try await session.performEffects()
        #expect(session.alert?.title == "TestError")
        #expect(session.work == [])
        try await session.answer("ok")

        try await session.order(.react([.push("never"), .fail]), .wait("soon", seconds: 1))
        let number = try #require(session.pending.first?.number)
        // As long as a server repeats the call, nobody sees an alert.
        var run = try #require(
            try app.begin(.timer(number), on: session.state, at: session.now + 1, showsErrors: false))
        #expect(try app.begin(.timer(number), on: session.state, at: session.now) == nil, "it is not due yet")
        let error = await #expect(throws: NavigationError.self) { try await run.result() }
        guard case .handlerFailed("station", "receive(due)", _)? = error else {
            Issue.record("\(error as Any)")
            return
        }
        try await session.advance(by: .seconds(1))

        #expect(session.alert?.title == "TestError")
        #expect(session.log == [])
        #expect(session.stack == "station")
        #expect(session.work == [])
        #expect(session.transition.cause == .timer)
        #expect(session.transition.operations.count == 1)
    }

    @Test func `an alert for an error waits behind the alert that is shown`() async throws {
        let app = SignalApp.make(onError: { _, _ in Alert("Failed") })
        var session = try await CoordinatorTester(app)
        try await session.order(.ask("Pay?"), .perform(.refuse(retries: 0)))

        try await session.performEffects()

        #expect(session.alert?.title == "Pay?")
        #expect(session.transition.operations == [])
        try await session.answer("yes")
        #expect(session.log == ["confirmed"])
        #expect(session.alert?.title == "Failed")
        try await session.answer("ok")
        #expect(session.alert == nil)
    }

    @Test func `nobody gets a new token by a signal`() async throws {
        var app = try await CoordinatorTester(SignalApp.app)
        try await app.order(.react([.rotateToken]))
        let before = app.state

        let failure = await #expect(throws: CoordinatorTester.Failure.self) { try await app.send(signal: "ping") }

        #expect("\(failure as Any)".contains("there is no client that could get a new token"))
        #expect(app.state == before)
        try await app.order(.rotateToken)
        #expect(app.transition.rotatesToken)
    }

    // MARK: Timers

    @Test func `a timer sends its signal once, when it is due`() async throws {
        var app = try await CoordinatorTester(SignalApp.app)
        try await app.order(.wait("a", seconds: 90))

        try await app.advance(by: .milliseconds(89_999))
        #expect(app.log == [])
        #expect(app.state.timersDue(at: app.now) == [])
        try await app.advance(by: .milliseconds(1))

        #expect(app.log == ["due(\"a\")"])
        #expect(app.transition.cause == .timer)
        #expect(app.transition.event == "due")
        #expect(app.work == [])
    }

    @Test func `timers fire in the order in which they are due, then in that in which they were set`() async throws {
        var app = try await CoordinatorTester(SignalApp.app)
        try await app.order(
            .wait("c", seconds: 3, id: "c"), .wait("b1", seconds: 2, id: "b1"), .wait("b2", seconds: 2, id: "b2"),
            .wait("a", seconds: 1, id: "a"))
        #expect(app.state.nextTimer == CoordinatorTester.someTime.addingTimeInterval(1))
        #expect(app.state.timersDue(at: app.now.addingTimeInterval(2)).map(\.id) == ["a", "b1", "b2"])

        try await app.advance(by: .seconds(10))

        #expect(app.log == ["a", "b1", "b2", "c"].map { "due(\"\($0)\")" })
        #expect(app.now.milliseconds == 10_000)
    }

    @Test func `a time that has passed is due at once`() async throws {
        var app = try await CoordinatorTester(SignalApp.app)
        try await app.order(
            .waitUntil("past", -1e300), .waitUntil("future", 1e11), .waitUntil("never", 1e300),
            .wait("negative", seconds: -5, id: "negative"), .wait("ages", seconds: 1e12, id: "ages"))
        _ = try app.restored()

        try await app.advance(by: .zero)

        #expect(app.log == ["due(\"past\")", "due(\"negative\")"])
        #expect(app.pending.map(\.id) == ["future", "never", "ages"])
    }

    @Test func `each accepted event restarts the timers that wait for idleness, and no other`() async throws {
        var app = try await CoordinatorTester(SignalApp.app)
        try await app.order(.idle("idle", seconds: 60), .wait("fixed", seconds: 60, id: "fixed"), .push("a"))
        let fresh = ["idle: due in 60000", "fixed: due in 30000"]

        try await app.advance(by: .seconds(30))
        var session = app
        try await session.order()
        #expect(session.work == fresh)

        session = app
        try await session.send("describeClient", ["locale": "de"])
        #expect(session.work == fresh)

        session = app
        try await session.back()
        #expect(session.work == fresh)

        // An event that is refused is none.
        session = app
        await #expect(throws: CoordinatorTester.Failure.self) { try await session.order(.fail) }
        await #expect(throws: CoordinatorTester.Failure.self) { try await session.dismiss() }
        #expect(session.work == app.work)

        // Nor is a signal.
        try await session.send(signal: "ping")
        #expect(session.work == app.work)
    }

    @Test func `an event that is held up restarts the timers as well`() async throws {
        let app = SignalApp.make(onError: { _, _ in Alert("Failed") })
        var session = try await CoordinatorTester(app)
        try await session.order(.guardScreens, .push("a"), .idle("idle", seconds: 60))
        try await session.advance(by: .seconds(30))
        let waiting = session

        try await session.back()
        #expect(session.alert?.title == "Leave?")
        #expect(session.work == ["idle: due in 60000"])

        session = waiting
        try await session.order(.fail)
        #expect(session.alert?.title == "Failed")
        #expect(session.work == ["idle: due in 60000"])
    }

    // MARK: Signals of other systems

    @Test func `a signal goes to the visible screen's coordinator, its ancestors, then to others, parents first`()
        async throws
    {
        var app = try await CoordinatorTester(SignalApp.app)
        try await app.order(.open())
        try await app.send(signal: StationCoordinator.Signal.paid(reference: "r-7", amount: 3))
        #expect(app.logs == [[], ["paid(reference: \"r-7\", amount: 3)"]])
        #expect(app.transition.cause == .signal)
        #expect(app.transition.event == "paid")

        // The porter's screen is visible; only an ancestor has the signal, the nearest of which receives it.
        try await app.order(.porter)
        try await app.send(signal: "paid", ["reference": "r-8", "amount": 4])
        #expect(app.logs[1].last == "paid(reference: \"r-8\", amount: 4)")
        #expect(app.signals == ["call", "ping", "paid"])

        // The covering flow's lineage comes first, then the others, although the porter was there before.
        var other = try await CoordinatorTester(SignalApp.app)
        try await other.order(.porter)
        try await other.send(signal: "ping")
        #expect((other.state.coordinators[1].coordinator as? PorterCoordinator)?.log == ["ping"])
        try await other.order(.cover)
        try await other.send(signal: "call")
        #expect((other.state.coordinators[1].coordinator as? PorterCoordinator)?.log == ["ping", "call"])
        try await other.send(signal: "ping")
        #expect(other.logs == [[], ["ping"]])
    }

    @Test func `a signal that is unknown, not accepted or does not fit is refused with the reason`() async throws {
        var app = try await CoordinatorTester(SignalApp.app)

        func refusal(_ type: String, _ payload: JSON? = nil) async -> NavigationError? {
            await #expect(throws: CoordinatorTester.Failure.self) { try await app.send(signal: type, payload) }?.reason
        }
        #expect(await refusal("no such") == .unknownSignal)
        // A signal that only the coordinator's own effects send.
        #expect(await refusal("done", "x") == .unknownSignal)
        #expect(await refusal("call") == .signalNotAccepted)
        guard case .invalidEvent(let invalid)? = await refusal("paid", ["reference": "r", "amount": "3"]) else {
            Issue.record("accepted")
            return
        }
        #expect(invalid.faults.map(\.path) == [["payload", "amount"]])
        guard case .invalidEvent(let extra)? = await refusal("ping", ["x": 1]) else {
            Issue.record("accepted")
            return
        }
        #expect(extra.faults.map(\.path) == [["payload"]])
        #expect(app.log == [])
    }

    @Test func `a signal that is refused names those that are accepted`() async throws {
        var app = try await CoordinatorTester(SignalApp.app)

        let failure = await #expect(throws: CoordinatorTester.Failure.self) { try await app.send(signal: "call") }

        #expect(failure?.event == "call")
        #expect(failure?.accepted == ["paid", "ping"])
        #expect("\(failure as Any)".contains("“call” was refused: signalNotAccepted; accepted now: paid, ping"))
    }

    // MARK: Signals and what the user sees

    @Test func `a signal leaves screens without asking`() async throws {
        let app = App("signals", root: { FrontCoordinator() }, coordinators: [StationCoordinator.self])
        var session = try await CoordinatorTester(app)
        try await session.order(.guardScreens, .push("form"))

        try await session.send(signal: "close")

        #expect(session.stack == "front")
        #expect(session.alert == nil)
    }

    @Test func `an alert that is shown stays when a signal comes, and one of the signal waits`() async throws {
        var app = try await CoordinatorTester(SignalApp.app)
        try await app.order(.alert("First"), .react([.push("below"), .alert("Second")]))

        try await app.send(signal: "ping")

        #expect(app.stack == "station, below")
        #expect(app.alert?.title == "First")
        try await app.answer("ok")
        #expect(app.alert?.title == "Second")
        #expect(app.events == ["back", "answer"])
    }

    @Test func `a question whether to leave a screen is void when a signal leaves the screen`() async throws {
        var app = try await CoordinatorTester(SignalApp.app)
        try await app.order(.push("under"), .guardScreens, .push("form"), .react([.pop]))
        try await app.back()
        let question = try #require(app.state.alert?.key)

        try await app.send(signal: "ping")

        #expect(app.stack == "station, under")
        #expect(app.alert == nil)
        #expect(app.transition.operations.first == .dismissAlert(key: question))
    }

    @Test func `a question stays as long as its screen does`() async throws {
        var app = try await CoordinatorTester(SignalApp.app)
        try await app.order(.guardScreens, .push("form"))
        try await app.back()

        try await app.send(signal: "ping")

        #expect(app.alert?.title == "Leave?")
        try await app.answer("leave")
        #expect(app.stack == "station")
    }

    @Test func `an alert that nobody can answer any longer is void when a signal ends its coordinator`() async throws {
        let app = App("signals", root: { FrontCoordinator() }, coordinators: [StationCoordinator.self])
        var session = try await CoordinatorTester(app)
        try await session.order(.ask("Sure?"))

        try await session.send(signal: "close")

        #expect(session.coordinators == ["front"])
        #expect(session.alert == nil)
        try session.state.checkInvariants()
    }

    // MARK: Saving

    @Test func `work is restored as it was saved, and in delta records`() async throws {
        let deltas = DeltaCheck()
        var app = try await CoordinatorTester(SignalApp.app)
        try await app.order(
            .perform(.work("a"), id: "effect"), .wait("b", seconds: 5, id: "timer"), .idle("c", seconds: 6),
            .open([.perform(.note)]))

        let restored = try app.restored()

        #expect(restored.pending == app.pending)
        #expect(
            app.saved["pending"]?.array?.first?["effect"] == ["work": ["_0": "a"]]
                && app.saved["pending"]?.array?[2]["idle"] == 6000)
        let steps: [[StationOrder]] = [
            [], [.push("x")], [.perform(.note, id: "more")], [.cancel("more")], [.finish], [],
        ]
        for orders in steps {
            let before = app.state
            try await app.send(StationCoordinator.Event.order(orders))
            let result = TransitionResult(state: app.state, transition: app.transition)
            #expect(deltas.fault(before, result) == nil)
        }
        let before = app.state
        try await app.performEffects()
        try await app.advance(by: .seconds(10))
        #expect(app.pending == [])
        #expect(deltas.fault(before, TransitionResult(state: app.state, transition: app.transition)) == nil)
    }

    @Test func `a fork has the timers, and no effects`() async throws {
        var app = try await CoordinatorTester(SignalApp.app)
        try await app.order(.perform(.note, id: "effect"), .wait("b", seconds: 5, id: "timer"))

        let fork = try SignalApp.app.fork(of: app.state, for: nil, at: app.now)

        #expect(fork.pending.map(\.id) == ["timer"])
        #expect(app.state.hasEffects && !fork.hasEffects)
    }

    @Test func `a saved state whose work contradicts itself is damaged`() async throws {
        var app = try await CoordinatorTester(SignalApp.app)
        try await app.order(.perform(.note, id: "a"), .perform(.note, id: "b"))
        let work = try #require(app.saved["pending"]?.array)

        func error(_ change: (inout [JSONObject]) -> Void) -> RestoreError? {
            var objects = work.compactMap(\.object)
            change(&objects)
            var saved = app.saved.object ?? [:]
            saved["pending"] = .array(objects.map { .object($0) })
            return #expect(throws: RestoreError.self) { try SignalApp.app.restore(.object(saved)) }
        }
        let contradiction = RestoreError.damaged(JSONDecodingError(path: [], reason: "contradicts itself"))
        #expect(error { $0[0]["coordinator"] = 99 } == contradiction)
        #expect(error { $0[0]["id"] = "b" } == contradiction)
        #expect(error { $0[0]["number"] = $0[1]["number"] } == contradiction)
        #expect(error { $0[0]["number"] = 9999 } == contradiction)
        #expect(error { $0[0]["since"] = -1 } != nil)
        #expect(error { $0[0]["since"] = nil } != nil)
    }

    @Test func `a time as far as can be saved does no harm`() async throws {
        var app = try await CoordinatorTester(SignalApp.app)
        try await app.order(.idle("a", seconds: 1))
        var saved = app.saved.object ?? [:]
        var work = saved["pending"]?.array?.first?.object ?? [:]
        work["idle"] = .integer(1 << 53)
        saved["pending"] = [.object(work)]

        var restored = try await CoordinatorTester(SignalApp.app, restoring: .object(saved))
        try await restored.order()

        #expect(restored.pending.first?.id == "a")
        _ = try restored.restored()
    }

    // MARK: Changed apps

    @Test func `work that a new version does not know is removed, and named`() async throws {
        var old = try await CoordinatorTester(SignalApp.app)
        try await old.order(
            .perform(.work("a"), id: "effect"), .wait("b", seconds: 5, id: "timer"), .perform(.note, id: "kept"))

        let changed = App("signals", version: 2, root: { ChangedStationCoordinator() })
        let new = try await CoordinatorTester(changed, restoring: old.saved)

        #expect(new.pending.map(\.id) == ["kept"])
        #expect(
            new.losses == [
                .work(id: "effect", coordinator: "station", reason: "there is no such effect"),
                .work(id: "timer", coordinator: "station", reason: "there is no such signal"),
            ])
        #expect("\(new.losses[0])" == "effect or timer “effect” of coordinator “station” (there is no such effect)")
        // The same version with another declaration is a mistake.
        let unversioned = App("signals", root: { ChangedStationCoordinator() })
        let refusal = #expect(throws: RestoreError.self) { try unversioned.restore(old.saved) }
        guard case .sameVersion(let losses)? = refusal else {
            Issue.record("\(refusal as Any)")
            return
        }
        #expect(new.losses.allSatisfy(losses.contains))
    }

    @Test func `migrate converts, renames and removes work`() async throws {
        var old = try await CoordinatorTester(SignalApp.app)
        try await old.order(
            .perform(.work("a"), id: "effect"), .wait("b", seconds: 5, id: "timer"), .idle("c", seconds: 6),
            .perform(.note, id: "kept"), .perform(.look, id: "broken"), .perform(.stumble, id: "taken"))

        let migrating = App("signals", version: 2, root: { MigratingStationCoordinator() })
        var new = try await CoordinatorTester(migrating, restoring: old.saved)

        #expect(new.work == ["converted: toil", "timer: rung in 5000", "kept: note"])
        #expect(
            new.losses == [
                .work(id: "c", coordinator: "station", reason: "migrate has removed it"),
                .work(id: "broken", coordinator: "station", reason: "cannot be migrated from version 1"),
                .work(id: "taken", coordinator: "station", reason: "its id “kept” is taken"),
            ])
        try await new.advance(by: .seconds(5))
        #expect((new.state.coordinators[0].coordinator as? MigratingStationCoordinator)?.log == ["rung"])
    }

    @Test func `work of a coordinator that is gone goes with it, and is named`() async throws {
        var old = try await CoordinatorTester(SignalApp.app)
        try await old.order(.porter)
        try await old.send(PorterCoordinator.Event.file)

        let smaller = App("signals", version: 2, root: { StationCoordinator() })
        let new = try await CoordinatorTester(smaller, restoring: old.saved)

        #expect(new.pending == [])
        #expect(new.losses.contains(.work(id: "file", coordinator: "porter", reason: nil)))
    }

    // MARK: Findings

    @Test func `a screen that a signal pushes under a flow is no mistake`() async throws {
        var app = try await CoordinatorTester(SignalApp.app)
        try await app.order(.wait("x", seconds: 1), .react([.push("hidden")]), .cover)

        try await app.advance(by: .seconds(1))

        #expect(app.stack == "station, hidden + sheet[station]")
        #expect(app.warnings == [])
    }
}

/// Ends its child when it is closed.
private struct FrontCoordinator: Coordinator {
    enum Signal: NavigationSignal {
        case close
        static let external: [Signal] = [.close]
    }

    func start(_ navigator: inout Navigator) {
        navigator.push(Screen("front"))
        navigator.start(StationCoordinator())
    }

    func receive(_ signal: Signal, _ navigator: inout Navigator) { navigator.endChildren() }
}

/// A later version, without some of the effects and signals.
private struct ChangedStationCoordinator: Coordinator {
    static let name = "station"
    static let blank = Self()

    enum Signal: NavigationSignal { case later }
    enum Effect: NavigationEffect { case note }

    init() {}
    func start(_ navigator: inout Navigator) { navigator.push(Screen("station")) }
    func receive(_ signal: Signal, _ navigator: inout Navigator) {}
    func perform(_ effect: Effect, in context: EffectContext) -> Signal? { nil }
}

/// A later version that knows how to convert what an earlier one has saved.
private struct MigratingStationCoordinator: Coordinator {
    static let name = "station"
    static let blank = Self()
    private(set) var log: [String] = []

    enum Signal: NavigationSignal { case rung }
    enum Effect: NavigationEffect { case note, toil }

    init() {}
    func start(_ navigator: inout Navigator) { navigator.push(Screen("station")) }
    mutating func receive(_ signal: Signal, _ navigator: inout Navigator) { log.append("\(signal)") }
    func perform(_ effect: Effect, in context: EffectContext) -> Signal? { nil }

    static func migrate(_ work: SavedWork, from version: Int) throws -> SavedWork? {
        var work = work
        switch (work.kind, work.id) {
        case (.effect, "effect"):
            work.id = "converted"
            work.value = ["toil": [:]]
        case (.effect, "taken"):
            work.id = "kept"
            work.value = ["note": [:]]
        case (.effect, "broken"): throw TestError()
        case (.timer, "timer"): work.value = ["rung": [:]]
        case (.timer, _): return nil
        case (.effect, _): break
        }
        return work
    }
}
