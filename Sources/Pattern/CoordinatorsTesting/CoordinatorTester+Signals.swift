public import Coordinators
public import JSONCoding

/// What happens elsewhere than on the session's screens: effects that end, time that passes, messages of other systems.
/// Nothing of it happens by itself, and nothing waits.
///
/// ```swift
/// try await app.send(SeatCoordinator.Event.choose(seat: "12A"))
/// #expect(app.pending.map(\.id) == ["hold"])
/// try await app.performEffects()
/// try await app.advance(by: .seconds(15 * 60))
/// #expect(app.alert?.title == "Your seat was released")
/// ```
///
/// A signal that a coordinator throws for changes nothing: the effect or timer that sent it stays, and sends it again.
extension CoordinatorTester {
    /// The effects under way and the timers, in the order in which they were recorded.
    public var pending: [PendingWork] { state.pending }

    /// The signals that other systems may send now.
    public var signals: [String] { state.acceptedSignals.map(\.signal.name) }

    /// Sends a signal as another system would.
    public mutating func send(
        signal type: String, _ payload: JSON? = nil, fileID: String = #fileID, line: UInt = #line
    ) async throws(Failure) {
        try await carryOut(.signal(PostedEvent(type, payload: payload)), of: type, fileID, line)
    }

    /// Sends a signal as another system would; its secrets arrive unmasked.
    public mutating func send(
        signal: some NavigationSignal, fileID: String = #fileID, line: UInt = #line
    ) async throws(Failure) {
        guard let encoded = EncodedEvent(signal, revealsSecrets: true) else {
            throw Failure(.unknownSignal, fileID: fileID, line: line)
        }
        try await send(signal: encoded.name, encoded.payload, fileID: fileID, line: line)
    }

    /// Pairs another device with the session: calls `deviceDidPair` of a root that declares it. The test goes on with the
    /// device that it uses, see `use`.
    ///
    /// - Parameters:
    ///   - label: what the device is called.
    ///   - role: what it may do; `nil` for the role that the last event's request for a code gives, or else the first one of
    ///     the app.
    ///   - client: what it says about itself.
    public mutating func pair(
        label: String? = nil, role: DeviceRole? = nil, client: ClientInfo? = nil, fileID: String = #fileID,
        line: UInt = #line
    ) async throws(Failure) {
        if let role, !app.roles.contains(role) {
            throw Failure(mistakes: ["the app has no role “\(role.name)”"], fileID: fileID, line: line)
        }
        lastDevice += 1
        let given = app.role(role?.name ?? pairingRequest?.role)
        let device = PairedDevice(lastDevice, label: label, role: given, client: client, pairedAt: now)
        devices.append(Device(device.number, label: label, role: device.role, device.client))
        try await carryOut(.pairing(device), of: nil, fileID, line)
    }

    /// Goes on with another device of the session: what the test reads from now on is drawn for it, and what it sends comes
    /// from it.
    ///
    /// - Parameter label: what the device was called in `pair`; `nil` for the one that has opened the session.
    public mutating func use(device label: String?, fileID: String = #fileID, line: UInt = #line) throws(Failure) {
        try use(fileID, line) { label == nil ? $0.number == NavigationState.firstDevice : $0.label == label }
    }

    private mutating func use(
        _ fileID: String, _ line: UInt, where isMeant: (Device) -> Bool
    ) throws(Failure) {
        if let acting, let index = devices.firstIndex(where: { $0.number == used }) { devices[index] = acting }
        guard let other = devices.first(where: isMeant) else {
            throw Failure(mistakes: ["the session has no such device"], fileID: fileID, line: line)
        }
        do throws(NavigationError) {
            state = try app.drawing(of: state, for: other)
        } catch {
            throw Failure(error, fileID: fileID, line: line)
        }
        used = other.number
    }

    /// Goes on with a device of a role, which is added to the session if it has none: without `deviceDidPair`, and without a
    /// label.
    public mutating func use(role: String, fileID: String = #fileID, line: UInt = #line) throws(Failure) {
        guard let role = app.roles.first(where: { $0.name == role }) else {
            throw Failure(mistakes: ["the app has no role “\(role)”"], fileID: fileID, line: line)
        }
        if !devices.contains(where: { $0.role == role }) {
            lastDevice += 1
            devices.append(Device(lastDevice, role: role, state.client))
        }
        try use(fileID, line) { $0.role == role }
    }

    /// The last event's request for a pairing code; `nil` if it has not asked for one.
    public var pairingRequest: PairingRequest? { transition.pairingRequest }

    /// Lets time pass: `now` moves on, and the timers that fall due send their signals, each at its time, in the order in
    /// which they are due.
    public mutating func advance(
        by duration: Duration, fileID: String = #fileID, line: UInt = #line
    ) async throws(Failure) {
        let end = now.later(by: duration)
        var count = 0
        while let timer = state.timersDue(at: end).first, let due = timer.due {
            count = due > now ? 1 : count + 1
            guard count <= CoordinatorTester.timersAtOnce else {
                throw Failure(
                    mistakes: ["timer “\(timer.id)” is scheduled again and again without delay"], fileID: fileID,
                    line: line)
            }
            now = max(now, due)
            try await carryOut(.timer(timer.number), of: timer.signal, fileID, line)
        }
        now = end
    }

    /// How many timers may be due at the same time.
    static let timersAtOnce = 1000

    /// Performs all effects under way, with the app's services, then applies their outcomes in the order in which the
    /// effects were recorded. Effects that begin meanwhile stay pending.
    ///
    /// An attempt that throws is repeated at once, as often as `retries` says.
    public mutating func performEffects(fileID: String = #fileID, line: UInt = #line) async throws(Failure) {
        var outcomes: [(effect: PendingWork, outcome: EffectOutcome)] = []
        for effect in state.effects {
            if let outcome = await outcome(of: effect) { outcomes.append((effect, outcome)) }
        }
        for (effect, outcome) in outcomes { try await end(effect, with: outcome, fileID, line) }
    }

    /// Performs the effect of that id, and applies its outcome. If several coordinators have one, it is that of the
    /// coordinator that was started last.
    public mutating func perform(
        effect id: String, fileID: String = #fileID, line: UInt = #line
    ) async throws(Failure) {
        let effect = try effect(id, fileID, line)
        guard let outcome = await outcome(of: effect) else { return }
        try await end(effect, with: outcome, fileID, line)
    }

    /// Ends the effect of that id without performing it, as if `perform` had returned `nil`.
    public mutating func finish(
        effect id: String, fileID: String = #fileID, line: UInt = #line
    ) async throws(Failure) {
        try await end(effect(id, fileID, line), with: .done(nil), fileID, line)
    }

    /// Ends the effect of that id without performing it, as if `perform` had returned this signal.
    public mutating func finish(
        effect id: String, with signal: some NavigationSignal, fileID: String = #fileID, line: UInt = #line
    ) async throws(Failure) {
        let effect = try effect(id, fileID, line)
        guard let sent = SentSignal(signal, for: effect, in: state) else {
            let owner = state[effect.coordinator]?.name ?? ""
            throw Failure(
                mistakes: ["\(type(of: signal)) is not the Signal of “\(owner)”, whose effect “\(id)” is"],
                fileID: fileID, line: line)
        }
        try await end(effect, with: .done(sent), fileID, line)
    }

    /// Ends the effect of that id without performing it, as if its last attempt had thrown this error.
    public mutating func fail(
        effect id: String, with error: any Error = EffectFailure(), fileID: String = #fileID, line: UInt = #line
    ) async throws(Failure) {
        try await end(effect(id, fileID, line), with: .failed(error), fileID, line)
    }

    /// Ends the session, and performs the clean-ups of its coordinators that declare `willBeRemoved`, children first, and
    /// those that are still under way. An attempt that throws is repeated at once, five times.
    ///
    /// The clean-ups of coordinators that go while the session lasts are among `pending`, and `performEffects` performs them.
    public mutating func end(
        _ reason: RemovalReason = .ended, fileID: String = #fileID, line: UInt = #line
    ) async throws(Failure) {
        state = app.remains(of: saved.ended(reason, at: now))
        var mistakes: [String] = []
        for cleanUp in state.effects {
            if case .failed(let error)? = await outcome(of: cleanUp) {
                mistakes.append("willBeRemoved of “\(cleanUp.cleanUp?.coordinator ?? "")” threw \(ThrownError(error))")
            }
        }
        state.removeCleanUps()
        if !mistakes.isEmpty { throw Failure(mistakes: mistakes, fileID: fileID, line: line) }
    }

    private func effect(_ id: String, _ fileID: String, _ line: UInt) throws(Failure) -> PendingWork {
        if let effect = state.effect(id) { return effect }
        let others = state.effects.isEmpty ? "none" : state.effects.map(\.id).joined(separator: ", ")
        throw Failure(mistakes: ["no effect “\(id)” is under way, but: \(others)"], fileID: fileID, line: line)
    }

    private func outcome(of effect: PendingWork) async -> EffectOutcome? {
        await EffectOutcome(of: effect, in: state, of: app, session: id, user: user, at: now)
    }

    private mutating func end(
        _ effect: PendingWork, with outcome: EffectOutcome, _ fileID: String, _ line: UInt
    ) async throws(Failure) {
        try await carryOut(.effect(effect.number, outcome), of: effect.effect, fileID, line)
    }
}

/// The failure of an effect that a test or a random walk has made up.
public struct EffectFailure: Error {
    public init() {}
}

extension NavigationState {
    /// The effects and clean-ups under way.
    var effects: [PendingWork] { pending.filter(\.isPerformed) }

    /// The effect of that id; if several coordinators have one, that of the coordinator that was started last.
    func effect(_ id: String) -> PendingWork? {
        effects.filter { $0.id == id }.max { $0.coordinator < $1.coordinator }
    }
}

extension EffectOutcome {
    /// Performs an effect, and repeats an attempt that throws at once, as often as `retries` says.
    ///
    /// - Returns: `nil` if the effect is over, or if it is none.
    init?(
        of work: PendingWork, in state: NavigationState, of app: App, session: String = CoordinatorTester.someID,
        user: String? = nil, at now: Date
    ) async {
        let effectID = "e_\(session.dropFirst(2))_\(work.number)"
        var attempt = 1
        while true {
            let run = EffectRun(
                of: work.number, in: state, of: app, session: session, user: user, effectID: effectID,
                attempt: attempt, at: now)
            guard let run else { return nil }
            do {
                self = .done(try await run.signal())
                return
            } catch {
                self = .failed(error)
                guard attempt <= run.retries else { return }
                attempt += 1
            }
        }
    }
}

extension Date {
    /// The time after a duration, in whole milliseconds, as timers have it.
    func later(by duration: Duration) -> Date {
        let milliseconds = (timeIntervalSince1970 * 1000 + max(0, duration / .milliseconds(1))).rounded()
        return Date(timeIntervalSince1970: milliseconds / 1000)
    }
}
