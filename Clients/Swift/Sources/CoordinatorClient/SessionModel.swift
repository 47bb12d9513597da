#if canImport(Observation)
public import Foundation
public import Observation

/// A session as views use it: what to draw, and what the user does. All on the main actor.
///
///     let model = SessionModel(NavigationSession(server: url, storage: storage, drawsEarly: true))
///     await model.run(app: "shop")         // as long as the app is shown
///     model.tap(.back)                     // in a button
@MainActor @Observable public final class SessionModel {
    /// What to draw; `nil` until the first state is there.
    public private(set) var state: NavigationState?
    /// The form whose values did not fit, and what is wrong with each; until the next event.
    public private(set) var faults: [Problem.Fault] = []
    /// What the server refused, or why there is no session, in words for the user; until the next event.
    public private(set) var notice: String?
    /// Whether an event is on the way: draw a spinner if it takes long, and offer `withdraw()`.
    public private(set) var isWaiting = false
    /// Whether there is no connection at present.
    public private(set) var isDisconnected = false
    /// Why the session is over: offer to start again, with `run(app:)`.
    public private(set) var end: SessionEnd?
    /// The session below, for what views need seldom: contents, devices, codes.
    @ObservationIgnored public nonisolated let session: NavigationSession

    @ObservationIgnored private var taps: [UUID: Task<Outcome, Never>] = [:]
    /// Links that came before there was a session.
    @ObservationIgnored private var links: [String] = []
    @ObservationIgnored private var client: ClientInfo?

    public init(_ session: NavigationSession) { self.session = session }

    /// Goes on with the saved session or opens one, and follows it until it is over or the task is cancelled. Without a
    /// connection it tries again.
    public func run(app: String? = nil, link: String? = nil, client: ClientInfo? = .current) async {
        end = nil
        notice = nil
        let listening = Task { [weak self, session] in
            for await update in await session.updates() { self?.receive(update) }
        }
        defer { listening.cancel() }
        while !Task.isCancelled {
            do {
                state = try await session.start(app: app, link: link, client: client)
                isDisconnected = false
                break
            } catch .unreachable {
                isDisconnected = true
            } catch {
                return notice = error.words
            }
        }
        for link in links { tap(.open(link)) }
        links = []
        await session.follow()
    }

    /// What the user did. While an event is on the way, the next one waits for its turn.
    @discardableResult
    public func tap(_ event: NavigationEvent, within limit: Duration? = .seconds(30)) -> Task<Outcome, Never> {
        (faults, notice, isWaiting) = ([], nil, true)
        let (id, screen) = (UUID(), state?.visible.key)
        let tap = Task { [weak self, session] in
            let outcome = await session.post(event, on: screen, within: limit)
            self?.finish(id, outcome)
            return outcome
        }
        taps[id] = tap
        return tap
    }

    /// Opens a link that the system hands over, as it is; once there is a session.
    public func open(_ url: URL) {
        if state == nil { links.append(url.absoluteString) } else { tap(.open(url.absoluteString)) }
    }

    /// Gives up what is on the way and waits: what the server has not carried out yet is not sent again.
    public func withdraw() {
        for tap in taps.values { tap.cancel() }
    }

    /// Call this when the app comes to the front, or when there is a network again.
    public func refresh() {
        Task { [session] in
            await session.retryNow()
            _ = try? await session.read()
        }
    }

    private func finish(_ id: UUID, _ outcome: Outcome) {
        taps[id] = nil
        isWaiting = !taps.isEmpty
        switch outcome {
        case .done, .answerFirst, .ended: break
        case .invalid(let problem):
            faults = problem.errors
            if faults.isEmpty { notice = problem.words }
        case .notNow(let problem): if problem.kind != "stale-screen" { notice = problem.words }
        case .outdated(let problem): notice = problem.words
        case .withdrawn(.carriedOut): notice = "It was done after all."
        case .withdrawn(.notCarriedOut): notice = "It was not done."
        case .withdrawn(.unknown): notice = "It is unknown whether it was done."
        case .failed(let error): notice = error.words
        }
    }

    private func receive(_ update: SessionUpdate) {
        switch update {
        case .state(let state): self.state = state
        case .connected: isDisconnected = false
        case .disconnected: isDisconnected = true
        case .settled(.notCarriedOut): notice = "What you did last was not done."
        case .settled(.carriedOut): notice = "What you did last was done."
        case .settled(.unknown), .storageFailed: break
        case .ended(let reason): end = reason
        }
    }
}

extension SessionError {
    /// For the user.
    var words: String {
        switch self {
        case .notOpen: "There is no session."
        case .badAddress: "The server's address is wrong."
        case .ended: "The session is over."
        case .refused(let problem): problem.words
        case .unreachable: "There is no connection to the server."
        case .storage: "This device could not save what is needed."
        case .payload: "This cannot be sent."
        }
    }
}
#endif
