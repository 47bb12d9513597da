public import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// What a session reports while it is used and followed.
public enum SessionUpdate: Sendable {
    /// Draw this state. It is never older than the one before.
    case state(NavigationState)
    /// The server was reached again.
    case connected
    /// There is no connection, or a gateway answers: reported once, until `connected`. It is tried again after this time,
    /// then at longer intervals, or by `retryNow()`.
    case disconnected(retryIn: Duration)
    /// What became of an event that an earlier start of the app, or an earlier withdrawal, has left open. It is asked for
    /// as soon as the server is heard again.
    case settled(Withdrawal)
    /// The session is over.
    case ended(SessionEnd)
    /// The storage did not keep the session, which goes on, but may be lost with the process.
    case storageFailed(any Error)
}

/// One session with a server: its state, its token, and what is on the way.
///
///     let session = NavigationSession(server: url, storage: FileStorage(file))
///     let state = try await session.start(app: "shop")
///     await session.post(.back)
///
/// Events are sent one after the other, each under a key of its own, which is saved before the event is sent. An event
/// is repeated under its key until the server has answered, so it is carried out once, whatever happens on the way.
public actor NavigationSession {
    /// The server's address, with the path below which it is offered.
    public nonisolated let server: URL
    /// The newest state that the server has sent.
    public private(set) var state: NavigationState?
    /// What is to be drawn: `state`, or what an event on the way probably leads to.
    public private(set) var drawn: NavigationState?
    /// Why the session is over, if it is.
    public private(set) var end: SessionEnd?

    private let storage: any SessionStorage
    private let transport: Transport
    private let drawsEarly: Bool
    private var saved = SavedSession()
    /// The entity tag of `state`.
    private var tag: String?
    private var onTheWay: OnTheWay?
    private var parked: ParkedEvent?
    private var contents: [String: (tag: String, content: JSONValue)] = [:]
    private var readers: [UUID: AsyncStream<SessionUpdate>.Continuation] = [:]
    private var pauses: [UUID: Task<Void, any Error>] = [:]
    /// The requests of the session that wait for an answer.
    private var sent: [UUID: Transport.Handle] = [:]
    /// What nobody was there to hear.
    private var settled: Withdrawal?
    private var isConnected = true
    private var isPosting = false
    private var waitingPosts: [(id: UUID, turn: CheckedContinuation<Bool, Never>)] = []

    /// - Parameters:
    ///   - storage: keeps the session between two starts of the app. One storage belongs to one session.
    ///   - drawsEarly: whether `back`, `selectTab` and `dismiss` are drawn at once where the state shows what they lead
    ///     to, and corrected by the answer.
    public init(
        server: URL, storage: any SessionStorage, drawsEarly: Bool = false, transport: Transport = .shared
    ) {
        self.server = server
        self.storage = storage
        self.drawsEarly = drawsEarly
        self.transport = transport
    }

    // MARK: Beginning and ending

    /// Goes on with the saved session. If there is none, or if it is over, opens one.
    ///
    /// - Parameters:
    ///   - app: the app's name; `nil`: the server's default app.
    ///   - link: where a new session begins.
    ///   - limit: how long all of it may take.
    @discardableResult
    public func start(
        app: String? = nil, link: String? = nil, client: ClientInfo? = .current, within limit: Duration = .seconds(30)
    ) async throws(SessionError) -> NavigationState {
        let deadline = ContinuousClock.now + limit
        do {
            if let state = try await resume(until: deadline) { return state }
        } catch .ended {}
        return try await create(
            Opening(path: "v1/sessions", app: app, link: link, client: client), savedUntil: deadline)
    }

    /// Goes on with the saved session, and finds out what became of an event that was on the way.
    ///
    /// - Returns: `nil` if no session with this server is saved.
    @discardableResult
    public func resume(within limit: Duration = .seconds(30)) async throws(SessionError) -> NavigationState? {
        try await resume(until: .now + limit)
    }

    private func resume(until deadline: Deadline) async throws(SessionError) -> NavigationState? {
        try checkAddress()
        do { saved = try loaded() ?? SavedSession() } catch { throw .storage(error) }
        end = nil
        if let opening = saved.opening {
            // If it is refused, such as a code that is too old by now, the session before it goes on.
            do throws(SessionError) { return try await create(opening, until: deadline) } catch {
                guard case .refused = error else { throw error }
            }
        }
        guard saved.id != nil else { return nil }
        if let event = saved.event {
            guard await takeTurn(until: deadline) else { throw .unreachable }
            let withdrawal = await settle(event, until: deadline)
            giveTurn()
            emit(.settled(withdrawal))
            if let end { throw .ended(end) }
            if let state { return state }
        }
        return try await read(until: deadline)
    }

    /// Opens a session of an app, in the place of the present one, which goes on if there is no new one: then events of the
    /// present one that are on the way are `.ended(.replaced)`, and who follows it follows the new one.
    @discardableResult
    public func open(
        app: String? = nil, link: String? = nil, client: ClientInfo? = .current, within limit: Duration = .seconds(30)
    ) async throws(SessionError) -> NavigationState {
        try await create(Opening(path: "v1/sessions", app: app, link: link, client: client), savedUntil: .now + limit)
    }

    /// Takes part in the session of another device, with the code that the user has typed, in upper or lower case: in the
    /// place of the present session, as with `open`. A wrong code leaves that as it is.
    ///
    /// - Parameter role: one of the app's roles, if the code lets this device choose.
    @discardableResult
    public func redeem(
        _ code: String, label: String? = nil, role: String? = nil, client: ClientInfo? = .current,
        within limit: Duration = .seconds(30)
    ) async throws(SessionError) -> NavigationState {
        let opening = Opening(path: "v1/pairings", code: code, label: label, role: role, client: client)
        return try await create(opening, savedUntil: .now + limit)
    }

    /// Ends the session, for every device, and forgets it.
    public func close() async throws(SessionError) {
        _ = try await ask(Call("DELETE"), as: Nothing.self)
        saved = SavedSession()
        keep()
        finish(.ended)
    }

    private func create(
        _ opening: Opening, savedUntil deadline: Deadline
    ) async throws(SessionError) -> NavigationState {
        try checkAddress()
        if saved.server == nil { saved = (try? loaded()) ?? SavedSession(server: server) }
        saved.opening = opening
        keep()
        return try await create(opening, until: deadline)
    }

    /// What an earlier start of the app has left in the storage; `nil` if that is nothing of this server.
    private func loaded() throws -> SavedSession? {
        let found = try storage.load().flatMap { try? JSONDecoder.ofAPI.decode(SavedSession.self, from: $0) }
        return found.flatMap { $0.server == server && $0.isWellFormed ? $0 : nil }
    }

    private func checkAddress() throws(SessionError) {
        let isHTTP = ["http", "https"].contains(server.scheme?.lowercased())
        guard isHTTP, server.host()?.isEmpty == false else { throw .badAddress(server) }
    }

    /// Sends the same request again until it is answered, also after a restart: a code can be redeemed once only.
    private func create(_ opening: Opening, until deadline: Deadline) async throws(SessionError) -> NavigationState {
        var call = Call("POST", opening.path, body: opening.body, key: opening.key)
        call.isOfSession = false
        do {
            let (next, answer) = try await exchange(call, as: NavigationState.self, until: deadline)
            (state, drawn, tag, end, parked, contents) = (nil, nil, nil, nil, nil, [:])
            saved = SavedSession(server: server, id: next.session.id)
            // What still waits for an answer is of the session before.
            for handle in sent.values { handle.cancel() }
            retryNow()
            accept(next, tag: answer.headers["etag"])
            return next
        } catch {
            // Where there is no session, `resume` goes on with what was not answered.
            let isKept = if case .refused = error { false } else { saved.id == nil }
            if !isKept, saved.opening?.key == opening.key {
                saved.opening = nil
                keep()
            }
            throw error
        }
    }

    // MARK: Reading

    /// Reads the state as it is now, for example when the app comes to the front.
    @discardableResult
    public func read(within limit: Duration = .seconds(30)) async throws(SessionError) -> NavigationState {
        try await read(until: .now + limit)
    }

    private func read(until deadline: Deadline) async throws(SessionError) -> NavigationState {
        let (next, answer) = try await ask(Call("GET"), as: NavigationState.self, until: deadline)
        accept(next, tag: answer.headers["etag"])
        return state ?? next
    }

    /// What a screen with `hasContent` shows beside its parameters. Asked again, it is sent only if it has changed.
    public func content(of screen: Screen) async throws(SessionError) -> JSONValue {
        let known = contents[screen.key]
        var call = Call("GET", "/screens/\(screen.key)/content")
        call.query = [:]
        if let known { call.headers["If-None-Match"] = known.tag }
        let (content, answer) = try await ask(call, as: JSONValue.self)
        if answer.status == 304, let known { return known.content }
        // Keys are never used again: what belongs to screens that are gone is forgotten before there is much of it.
        if contents.count >= 64 { contents = [:] }
        if let tag = answer.headers["etag"] { contents[screen.key] = (tag, content) }
        return content
    }

    /// Asks for a code with which another device takes part in this session. It works once, for two minutes.
    ///
    /// - Parameters:
    ///   - label: what the other device is called in `devices()`.
    ///   - role: what it may do, one of the app's roles.
    public func pairingCode(label: String? = nil, role: String? = nil) async throws(SessionError) -> PairingCode {
        let body = JSONValue.object(["label": label, "role": role].compactMapValues { $0.map { .string($0) } })
        return try await ask(Call("POST", "/pairings", body: body, key: .newKey), as: PairingCode.self).0
    }

    /// The devices that take part in the session.
    public func devices() async throws(SessionError) -> [Device] {
        struct Tokens: Decodable { let tokens: [Device] }
        var call = Call("GET", "/tokens")
        call.query = [:]
        return try await ask(call, as: Tokens.self).0.tokens
    }

    /// Revokes the token of a device, which takes part no longer.
    public func remove(_ device: Device) async throws(SessionError) {
        var call = Call("DELETE", "/tokens/\(device.number)")
        call.query = [:]
        _ = try await ask(call, as: Nothing.self)
    }

    // MARK: Posting

    /// Posts an event after those posted before, and reports what became of it. To withdraw it, cancel the task: what
    /// the server has not carried out by then is not repeated any more.
    ///
    /// - Parameters:
    ///   - screen: the key of the screen that the user acted on, so that a second tap cannot act on the screen that the
    ///     first one opened; by default the one that is drawn, or, while the same event is on the way, the one that it
    ///     was for.
    ///   - limit: how long the event may wait for a connection and be repeated: a tap made without a network must not
    ///     buy something an hour later. `nil`: as long as it takes.
    ///   - wait: how many seconds the answer may take if the event begins work in the background, to have the state
    ///     after it; at most 50.
    ///   - ifUnchanged: carry it out only if the session has not changed since `state`: otherwise `.outdated`.
    @discardableResult
    public func post(
        _ event: NavigationEvent, on screen: String? = nil, within limit: Duration? = .seconds(30), wait: Int = 0,
        ifUnchanged: Bool = false
    ) async -> Outcome {
        let deadline = limit.map { ContinuousClock.now + $0 }
        // The same tap again, while the first one is on the way, is meant for the screen that the first one was for.
        let first = onTheWay?.event == event ? onTheWay : nil
        let tapped = OnTheWay(
            event: event, screen: screen ?? first?.screen ?? drawn?.visible.key,
            alert: first == nil ? drawn?.alert?.key : first?.alert)
        var call = Call("POST", "/events", key: .newKey)
        call.wait = wait
        if ifUnchanged, let tag { call.headers["If-Match"] = tag }

        guard await takeTurn(until: deadline) else { return .withdrawn(.notCarriedOut) }
        defer { giveTurn() }
        if let end { return .ended(end) }
        if let fault = event.fault { return .failed(.payload(fault)) }
        guard saved.id != nil, saved.token != nil else { return .failed(.notOpen) }
        if let earlier = saved.event {
            let withdrawal = await settle(earlier, until: deadline)
            if let end { return .ended(end) }
            guard saved.event == nil else { return .withdrawn(.notCarriedOut) }
            emit(.settled(withdrawal))
        }
        guard !Task.isCancelled, deadline.map({ $0 > .now }) ?? true else { return .withdrawn(.notCarriedOut) }
        var body: [String: JSONValue] = ["type": .string(event.type)]
        body["payload"] = event.payload
        if !event.isOfNoScreen { body["screen"] = (screen ?? tapped.alert ?? tapped.screen).map { .string($0) } }
        call.body = .object(body)
        let (parked, answer) = (parked, event.payload)
        let outcome = await send(call, tapped, until: deadline)
        guard case .done = outcome, let parked, event.type == "answer", answer?["alert"]?.string == parked.alert,
            answer?["button"]?.string != parked.cancelButton
        else { return outcome }
        return await send(parked.call, parked.event, until: limit.map { ContinuousClock.now + $0 })
    }

    /// Sends an event whose turn it is.
    private func send(_ call: Call, _ tapped: OnTheWay, until deadline: Deadline) async -> Outcome {
        guard let key = call.key else { return .failed(.notOpen) }
        saved.event = key
        keep()
        onTheWay = tapped
        redraw()
        defer {
            onTheWay = nil
            redraw()
        }
        do {
            let (next, answer) = try await exchange(call, as: NavigationState.self, until: deadline)
            await accept(outcome: next, answer)
            return .done(next)
        } catch .unreachable {
            // Not in this task, which may have been cancelled.
            return .withdrawn(await Task { await settle(key, until: .now + NavigationSession.settling) }.value)
        } catch .ended(.replaced) {
            return .ended(.replaced)
        } catch {
            saved.event = nil
            keep()
            if case .ended(let end) = error { return .ended(end) }
            guard case .refused(let problem) = error else { return .failed(error) }
            onTheWay = nil
            if let next = problem.state { accept(next, tag: nil) }
            return await outcome(of: problem, call, tapped)
        }
    }

    private func outcome(of problem: Problem, _ call: Call, _ tapped: OnTheWay) async -> Outcome {
        switch (problem.status, problem.kind) {
        case (409, "answer-forgotten"):
            guard let state = try? await read() else { return .failed(.refused(problem)) }
            return .done(state)
        case (409, "answer-first"):
            if let alert = problem.state?.alert {
                let cancel = alert.buttons.first { $0.role == .cancel }?.id
                parked = ParkedEvent(call: call, event: tapped, alert: alert.key, cancelButton: cancel)
            }
            return .answerFirst(problem)
        case (409, _): return .notNow(problem)
        case (412, _): return .outdated(problem)
        case (422, _): return .invalid(problem)
        default: return .failed(.refused(problem))
        }
    }

    /// The answer to an event: nothing is open any more. It may be a repeated one, and the session have gone on since.
    private func accept(outcome next: NavigationState, _ answer: Answer) async {
        saved.event = nil
        onTheWay = nil
        accept(next, tag: answer.headers["etag"], isSaved: false)
        let present = answer.headers["session-version"].flatMap { Int($0) } ?? 0
        if present > state?.session.version ?? 0 { _ = try? await read() }
    }

    /// How long the outcome of an event that is given up is asked for.
    private static let settling = Duration.seconds(5)

    /// Gives up an event: asks what became of it, and has the server refuse it if it arrives later.
    private func settle(_ key: String, until deadline: Deadline) async -> Withdrawal {
        struct Kept: Decodable {
            let session: SessionInfo?
            let token: Secret?
        }
        do throws(SessionError) {
            let (kept, answer) = try await exchange(Call("DELETE", "/outcomes/\(key)"), as: Kept.self, until: deadline)
            guard answer.status == 204 || kept.session != nil else { return .unknown }
            saved.event = nil
            if let token = kept.token { saved.token = token }
            keep()
            if answer.status == 204 { return .notCarriedOut }
            // The kept answer has no controls, and may be an old one.
            onTheWay = nil
            _ = try? await read(until: deadline)
            return .carriedOut
        } catch {
            guard case .refused(let problem) = error, problem.status == 404 || problem.kind == "answer-forgotten" else {
                return .unknown
            }
            saved.event = nil
            keep()
            // An older server cannot say what became of it.
            _ = try? await read(until: deadline)
            return problem.status == 404 ? .unknown : .carriedOut
        }
    }

    /// Whether an event of this client, which is on the way or whose outcome is open, has put another token in the place
    /// of this one.
    private func hasReplaced(_ stale: Secret?) async -> Bool {
        guard await takeTurn(until: nil) else { return false }
        defer { giveTurn() }
        if saved.token == stale, let key = saved.event {
            _ = await settle(key, until: .now + NavigationSession.settling)
        }
        return saved.token != stale
    }

    /// Asks what became of an event that was withdrawn while the server could not be asked, now that it is heard.
    private func settleWithdrawn() {
        guard let key = saved.event, !isPosting, end == nil else { return }
        isPosting = true
        Task {
            defer { giveTurn() }
            let withdrawal = await settle(key, until: .now + NavigationSession.settling)
            if saved.event == nil, end == nil { emit(.settled(withdrawal)) }
        }
    }

    /// Waits until no other event is on the way.
    ///
    /// - Returns: whether it is the caller's turn, which `giveTurn()` ends; `false` if the deadline has passed or the
    ///   task was cancelled before.
    private func takeTurn(until deadline: Deadline) async -> Bool {
        guard isPosting else {
            isPosting = true
            return true
        }
        let id = UUID()
        let timer = deadline.map { deadline in
            Task {
                try await Task.sleep(until: deadline, clock: .continuous)
                leaveQueue(id)
            }
        }
        defer { timer?.cancel() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { turn in
                if Task.isCancelled { turn.resume(returning: false) } else { waitingPosts.append((id, turn)) }
            }
        } onCancel: {
            Task { await self.leaveQueue(id) }
        }
    }

    private func leaveQueue(_ id: UUID) {
        guard let position = waitingPosts.firstIndex(where: { $0.id == id }) else { return }
        waitingPosts.remove(at: position).turn.resume(returning: false)
    }

    private func giveTurn() {
        if waitingPosts.isEmpty { isPosting = false } else { waitingPosts.removeFirst().turn.resume(returning: true) }
    }

    // MARK: Following

    /// Reports every change of the session, also those that other devices and the app itself make, until the session
    /// ends or the task is cancelled. By a stream; where streams do not get through, by requests that wait.
    public func follow(by choice: Following = .automatic) async {
        var (failures, silentStreams) = (0, 0)
        var stream = StreamProgress()
        while !Task.isCancelled, end == nil, let id = saved.id {
            let token = saved.token
            let isPolling = choice == .longPoll || choice == .automatic && silentStreams == 3
            var over: SessionEnd?
            var retryAfter: Duration?
            (stream.isOpen, stream.hasMessages) = (false, false)
            do {
                if isPolling {
                    retryAfter = try await poll()
                    failures = 0
                    if retryAfter == nil { continue }
                } else {
                    over = try await readStream(&stream)
                }
            } catch {
                failures += 1
                if let problem = error as? Problem { (over, retryAfter) = (problem.end, problem.retryAfter) }
            }
            guard !Task.isCancelled else { return }
            guard saved.id == id else { continue }
            if let reason = over {
                if await hasReplaced(token) { continue }
                guard !Task.isCancelled else { return }
                let mayBeReplaced = saved.event != nil && (reason == .unauthorized || reason == .tokenReplaced)
                guard mayBeReplaced else { return finish(reason) }
            }
            if stream.hasMessages { (failures, silentStreams) = (0, 0) } else if stream.isOpen { silentStreams += 1 }
            let time = retryAfter ?? backOff(failures, from: stream.interval, to: .seconds(15))
            if !isPolling || failures > 0 { disconnected(retryIn: time) }
            await pause(time)
        }
    }

    /// How far a stream has come.
    private struct StreamProgress {
        var isOpen = false
        var hasMessages = false
        /// When to connect again after a cut.
        var interval = Duration.seconds(1)
    }

    /// How a session is followed.
    public enum Following: Sendable {
        /// By the stream; after three streams without a message, by requests that wait.
        case automatic
        case stream
        case longPoll
    }

    /// Waits for one change.
    ///
    /// - Returns: how long to wait before the next request, if the server says so.
    private func poll() async throws -> Duration? {
        var call = Call("GET")
        call.wait = 30
        call.headers["If-None-Match"] = tag
        let answer = try await answer(to: request(call))
        if answer.status == 304 {
            connected()
            return answer.retryAfter
        }
        let next = try answer.decoded(as: NavigationState.self)
        connected()
        accept(next, tag: answer.headers["etag"])
        return nil
    }

    /// Reads one stream to its end.
    ///
    /// - Returns: why the session is over, if the stream says so.
    private func readStream(_ progress: inout StreamProgress) async throws -> SessionEnd? {
        var call = Call("GET", "/updates")
        call.headers = ["Accept": "text/event-stream"]
        call.headers["Last-Event-ID"] = state == nil ? nil : tag
        var request = request(call)
        // The server is heard every 20 seconds.
        request.timeoutInterval = 45
        var refusal = Answer()
        var messages = EventStream()
        let (id, handle) = (UUID(), Transport.Handle())
        sent[id] = handle
        defer { sent[id] = nil }
        for try await part in transport.parts(of: request, handle) {
            switch part {
            case .head(let status, let headers):
                (refusal.status, refusal.headers) = (status, headers)
                progress.isOpen = status == 200
            case .data(let data) where refusal.status != 200: refusal.body += data
            case .data(let data):
                for message in messages.read(data) {
                    connected()
                    progress.hasMessages = true
                    progress.interval = message.retry ?? progress.interval
                    if message.event == "state" {
                        accept(try JSONDecoder.ofAPI.decode(NavigationState.self, from: message.data), tag: message.id)
                    } else if message.event == "end" {
                        struct End: Decodable { let reason: String }
                        let reason = try JSONDecoder.ofAPI.decode(End.self, from: message.data).reason
                        return SessionEnd(rawValue: reason) ?? SessionEnd(rawValue: "session-\(reason)") ?? .unknown
                    }
                }
            }
        }
        if refusal.status != 200 { _ = try refusal.decoded(as: Nothing.self) }
        return nil
    }

    /// Everything that happens from now on, beginning with the state that is drawn. Several readers may listen.
    public func updates() -> AsyncStream<SessionUpdate> {
        let (updates, continuation) = AsyncStream<SessionUpdate>.makeStream()
        let id = UUID()
        readers[id] = continuation
        continuation.onTermination = { [weak self] _ in Task { await self?.removeReader(id) } }
        if let settled { continuation.yield(.settled(settled)) }
        settled = nil
        if let drawn { continuation.yield(.state(drawn)) }
        return updates
    }

    private func removeReader(_ id: UUID) { readers[id] = nil }

    private func emit(_ update: SessionUpdate) {
        if case .settled(let withdrawal) = update, readers.isEmpty { settled = withdrawal }
        for reader in readers.values { reader.yield(update) }
    }

    // MARK: The state

    /// Takes over a state unless it is older than the one that is there. Its token is saved before it is drawn.
    private func accept(_ next: NavigationState, tag newTag: String?, isSaved: Bool = true) {
        // Another session may have been opened meanwhile.
        guard next.session.id == saved.id else { return }
        let isNew = next.token.map { $0 != saved.token } ?? false
        if let token = next.token { saved.token = token }
        if isNew || !isSaved { keep() }
        let newTag = newTag ?? "\"\(next.session.version)\""
        if let state {
            let (known, version) = (state.session.version, next.session.version)
            // The same version has another tag while another build of the server draws it.
            guard version > known || version == known && newTag != tag else { return }
        }
        state = next
        tag = newTag
        if parked?.alert != next.alert?.key { parked = nil }
        redraw()
    }

    /// Draws the state, or what the event on the way probably leads to while the state is still the one it was for.
    private func redraw() {
        guard let state else { return }
        var next = state
        if drawsEarly, let onTheWay, state.visible.key == onTheWay.screen, state.alert?.key == onTheWay.alert {
            next = state.predicted(after: onTheWay.event) ?? state
        }
        guard next != drawn else { return }
        drawn = next
        emit(.state(next))
    }

    private func finish(_ reason: SessionEnd) {
        guard end == nil else { return }
        end = reason
        emit(.ended(reason))
    }

    private func keep() {
        let isEmpty = saved.id == nil && saved.opening == nil
        do { try storage.save(isEmpty ? nil : JSONEncoder.ofAPI.encode(saved)) } catch { emit(.storageFailed(error)) }
    }

    // MARK: Requests

    typealias Deadline = ContinuousClock.Instant?

    private func ask<T: Decodable & Sendable>(
        _ call: Call, as type: T.Type, until deadline: Deadline = .now + .seconds(30)
    ) async throws(SessionError) -> (T, Answer) {
        guard saved.id != nil else { throw .notOpen }
        return try await exchange(call, as: type, until: deadline)
    }

    /// Sends a request until an answer is the server's own and says what happened, always under the same key. Throws
    /// `unreachable` when the deadline has passed or the task is cancelled, and `ended(.replaced)` if another session has
    /// taken the place of the one that it was for.
    ///
    /// An attempt may take five seconds, the next one ten, then twenty: a connection that has died says nothing, and the
    /// next attempt may find one that lives.
    private func exchange<T: Decodable & Sendable>(
        _ call: Call, as type: T.Type, until deadline: Deadline
    ) async throws(SessionError) -> (T, Answer) {
        let id = call.isOfSession ? saved.id : nil
        var failures = 0
        var hasRepeatedSlow = false
        while true {
            let token = saved.token
            let request = request(call)
            let patience = Duration.seconds(min(5 << min(failures, 3), 30) + call.wait)
            var pause = backOff(failures, from: .milliseconds(250), to: .seconds(5))
            failures += 1
            do {
                let notice = noticeSilence(after: .seconds(3 + call.wait), of: patience)
                defer { notice.cancel() }
                let end = ContinuousClock.now + patience
                let answer = try await NavigationSession.within(deadline.map { min($0, end) } ?? end) {
                    try await self.answer(to: request)
                }
                guard id == nil || saved.id == id else { throw CancellationError() }
                let value = try answer.decoded(as: type)
                connected()
                return (value, answer)
            } catch let problem as Problem {
                connected()
                let isRefused = problem.status == 401 && call.isOfSession
                if isRefused, saved.token != token { continue }
                if isRefused, !call.isAbout(event: saved.event), await hasReplaced(token) { continue }
                let mayBeReplaced = isRefused && !call.isAbout(event: saved.event)
                if let end = problem.end, !mayBeReplaced {
                    if call.isOfSession { finish(end) }
                    throw call.isOfSession ? .ended(end) : .refused(problem)
                }
                let isRepeated = problem.isTemporary || problem.status == 504 && !hasRepeatedSlow || mayBeReplaced
                guard isRepeated else { throw .refused(problem) }
                if problem.status == 504 { hasRepeatedSlow = true }
                pause = max(problem.retryAfter ?? .zero, pause)
            } catch {
                guard id == nil || saved.id == id else { throw .ended(.replaced) }
                // Nobody has answered, or a gateway has: it is unknown what the server has done.
                guard !Task.isCancelled, deadline.map({ $0 > .now }) ?? true else { throw .unreachable }
                disconnected(retryIn: pause)
            }
            // `retryNow()` may end the pause early, also the last one.
            await self.pause(deadline.map { min(pause, ContinuousClock.now.duration(to: $0)) } ?? pause)
            guard id == nil || saved.id == id else { throw .ended(.replaced) }
            guard !Task.isCancelled, deadline.map({ $0 > .now }) ?? true else { throw .unreachable }
        }
    }

    /// Reports that there is no answer yet.
    private func noticeSilence(after silence: Duration, of patience: Duration) -> Task<Void, any Error> {
        Task {
            try await Task.sleep(for: silence)
            disconnected(retryIn: patience - silence)
        }
    }

    private func answer(to request: URLRequest) async throws -> Answer {
        let (id, handle) = (UUID(), Transport.Handle())
        sent[id] = handle
        defer { sent[id] = nil }
        return try await transport.answer(to: request, handle)
    }

    private func request(_ call: Call) -> URLRequest {
        var url = server
        if call.isOfSession { url.append(path: "v1/sessions/\(saved.id ?? "")") }
        if !call.path.isEmpty { url.append(path: call.path) }
        url.append(queryItems: call.query.map { URLQueryItem(name: $0, value: $1) })
        var request = URLRequest(url: url)
        request.httpMethod = call.method
        request.timeoutInterval = TimeInterval(30 + call.wait)
        request.cachePolicy = .reloadIgnoringLocalCacheData
        #if canImport(FoundationNetworking)
        // If a connection that was used before is closed without an answer, Foundation on Linux sends a POST once more,
        // and hangs until its timeout.
        request.setValue("close", forHTTPHeaderField: "Connection")
        #endif
        for (name, value) in call.headers { request.setValue(value, forHTTPHeaderField: name) }
        if let key = call.key { request.setValue(key, forHTTPHeaderField: "Idempotency-Key") }
        if call.wait > 0 { request.setValue("wait=\(call.wait)", forHTTPHeaderField: "Prefer") }
        if call.isOfSession, let token = saved.token {
            request.setValue("Bearer \(token.text)", forHTTPHeaderField: "Authorization")
        }
        if let body = call.body, let data = try? JSONEncoder.ofAPI.encode(body) {
            request.httpBody = data
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        }
        return request
    }

    /// Ends all pauses before the next try, for example because there is a network again.
    public func retryNow() {
        for pause in pauses.values { pause.cancel() }
    }

    private func pause(_ duration: Duration) async {
        let (id, pause) = (UUID(), Task { try await Task.sleep(for: duration) })
        pauses[id] = pause
        await withTaskCancellationHandler {
            _ = await pause.result
        } onCancel: {
            pause.cancel()
        }
        pauses[id] = nil
    }

    private func connected() {
        settleWithdrawn()
        guard !isConnected else { return }
        isConnected = true
        emit(.connected)
    }

    /// Once for each loss, whoever notices it.
    private func disconnected(retryIn time: Duration) {
        guard isConnected else { return }
        isConnected = false
        emit(.disconnected(retryIn: time))
    }

    /// Twice as long after each failure, with a random part: a thousand clients must not come back at once.
    private nonisolated func backOff(_ failures: Int, from first: Duration, to longest: Duration) -> Duration {
        min(first * (1 << min(failures, 6)), longest) * Double.random(in: 0.5...1)
    }

    /// Cancels the work when the deadline has passed.
    private static func within<T: Sendable>(
        _ deadline: Deadline, _ work: @escaping @Sendable () async throws -> T
    ) async throws -> T {
        guard let deadline else { return try await work() }
        return try await withThrowingTaskGroup { group in
            group.addTask(operation: work)
            group.addTask {
                try await Task.sleep(until: deadline, clock: .continuous)
                throw CancellationError()
            }
            defer { group.cancelAll() }
            guard let first = try await group.next() else { throw CancellationError() }
            return first
        }
    }
}

/// A device that takes part in a session.
public struct Device: Decodable, Sendable, Equatable, Identifiable {
    /// Distinguishes the devices of the session.
    public let number: Int
    public let label: String?
    /// What it may do; `nil` if the app declares no roles.
    public let role: String?
    public let createdAt, lastUsedAt: Date
    /// Whether it is this one.
    public let isOwn: Bool?

    public var id: Int { number }
}

/// A request, before it has its token.
private struct Call {
    let method: String
    let path: String
    var query = ["include": "controls"]
    var headers: [String: String] = [:]
    var body: JSONValue?
    let key: String?
    var wait = 0
    /// Whether `path` is below the session's, and needs its token.
    var isOfSession = true

    init(_ method: String, _ path: String = "", body: JSONValue? = nil, key: String? = nil) {
        (self.method, self.path, self.body, self.key) = (method, path, body, key)
        if method == "DELETE" || path == "/pairings" { query = [:] }
    }

    /// Whether it is that event, or asks for its outcome, or there is no such event: nothing else can replace its token.
    func isAbout(event: String?) -> Bool {
        event.map { key == $0 || path == "/outcomes/\($0)" } ?? true
    }
}

/// An event that was sent, and what the user saw when it was.
private struct OnTheWay {
    let event: NavigationEvent
    let screen: String?
    let alert: String?
}

/// An event that waits for the answer to an alert.
private struct ParkedEvent {
    let call: Call
    let event: OnTheWay
    let alert: String
    let cancelButton: String?
}

/// What the storage keeps.
private struct SavedSession: Codable {
    var server: URL?
    var id: String?
    var token: Secret?
    /// The request that opens the session, until it is answered.
    var opening: Opening?
    /// The key of the event on the way. Its payload is not kept: it may be a password.
    var event: String?

    /// Whether it is one that a server understands: a file may have been damaged.
    var isWellFormed: Bool {
        let isPlain = { (text: String) in
            !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7f && $0 != UInt8(ascii: "/") }
        }
        return id.map(isPlain) ?? true && token.map { isPlain($0.text) } ?? true
            && event.map { UUID(uuidString: $0) != nil } ?? true
            && ["v1/sessions", "v1/pairings"].contains(opening?.path ?? "v1/sessions")
    }
}

/// A request that opens a session, or lets this device take part in one.
private struct Opening: Codable {
    let path: String
    let key: String
    let body: JSONValue

    init(
        path: String, app: String? = nil, link: String? = nil, code: String? = nil, label: String? = nil,
        role: String? = nil, client: ClientInfo?
    ) {
        let members = ["app": app, "link": link, "code": code, "label": label, "role": role].compactMapValues { $0 }
        var body = members.mapValues { JSONValue.string($0) }
        body["client"] = client.flatMap { try? JSONValue(encoding: $0) }
        (self.path, self.key, self.body) = (path, .newKey, .object(body))
    }
}

extension String {
    /// 122 random bits.
    fileprivate static var newKey: String { UUID().uuidString }
}
