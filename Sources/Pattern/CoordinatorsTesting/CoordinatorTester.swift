public import Coordinators
public import JSONCoding

/// One session of an app, without a server. A test posts events, and reads what the user would see.
///
/// ```swift
/// var app = try await CoordinatorTester(Shop.app)
/// try await app.send(LoginCoordinator.Event.submit(email: "ann@example.com", password: "correct horse"))
/// #expect(app.stack == "tabs[home*: home | cart: cart]")
/// ```
///
/// An event that is refused throws a `Failure` that names the test's own line, and changes nothing.
public struct CoordinatorTester: Sendable {
    public let app: App
    public internal(set) var state: NavigationState
    /// What the last event did.
    public private(set) var transition: Transition
    private var findings = Findings()
    /// The parts of a restored session that were removed, because the app can no longer keep them.
    public let losses: [Loss]
    /// The time that handlers see as `Navigator.now`.
    public var now: Date
    /// Where events come from, as handlers see it in `Navigator.address`.
    public var address: ClientAddress?

    /// The session's id, as handlers see it in `Navigator.session`.
    public let id: String
    /// How many transitions the session has had, which makes their ids.
    private var transitionCount = 1

    /// Who is signed in to the session, see `Navigator.signIn`.
    public private(set) var user: String?
    /// The session's devices, the one that has opened it first; how their clients describe themselves now is known of those
    /// that the test does not use.
    public internal(set) var devices: [Device]
    /// The number of the device that was paired last.
    var lastDevice = NavigationState.firstDevice
    /// The number of the device that the test uses.
    var used = NavigationState.firstDevice
    /// What the device that the test uses is called.
    public var device: String? { devices.first { $0.number == used }?.label }
    /// The sessions that handlers get for any user, see `Navigator.sessions(ofUser:)`.
    public var sessions: [UserSession] = []

    /// An arbitrary time, the same for every test.
    public static let someTime = Date(timeIntervalSince1970: 1_800_000_000)
    /// An arbitrary session's id, the same for every test.
    public static let someID = "s_tester0000001"

    /// Opens a session.
    ///
    /// - Parameters:
    ///   - id: the session's; another one for each session of a test that has several.
    ///   - link: a path that is opened as soon as the session has started.
    ///   - client: what the client says about itself, as handlers see it in `Navigator.client`.
    ///   - devices: other devices, which are paired with the session as `pair` does it; each needs a label.
    public init(
        _ app: App, id: String = someID, link: String? = nil, client: ClientInfo? = nil, devices: [Device],
        now: Date = someTime, fileID: String = #fileID, line: UInt = #line
    ) async throws(Failure) {
        try await self.init(app, id: id, link: link, client: client, now: now, fileID: fileID, line: line)
        for device in devices {
            try await pair(label: device.label, role: device.role, client: device.client, fileID: fileID, line: line)
        }
    }

    /// Opens a session with one device.
    public init(
        _ app: App, id: String = someID, link: String? = nil, client: ClientInfo? = nil, now: Date = someTime,
        fileID: String = #fileID, line: UInt = #line
    ) async throws(Failure) {
        try CoordinatorTester.checkDeclaration(of: app, fileID: fileID, line: line)
        self.app = app
        self.id = id
        self.now = now
        self.losses = []
        self.devices = [Device(NavigationState.firstDevice, role: app.roles.first, client ?? .none)]
        do throws(NavigationError) {
            var run = try app.beginLaunch(at: now, link: link, client: client)
            run.origin = .test(session: id)
            let first = try await run.watchedResult(&findings)
            self.state = first.state
            self.transition = first.transition
            self.user = first.transition.userChange?.user
        } catch {
            throw Failure(error, fileID: fileID, line: line)
        }
    }

    /// Restores a session that another version of the app has saved, as a server does.
    ///
    /// - Parameter saved: the `saved` of a tester of that version, or a line of `coordinatord sessions export`.
    /// - Throws: `RestoreError` if a server would relaunch or refuse the session; `Failure` if a coordinator fails when
    ///   it is notified of the removed parts.
    public init(
        _ app: App, restoring saved: JSON, id: String = someID, now: Date = someTime, fileID: String = #fileID,
        line: UInt = #line
    ) async throws {
        try CoordinatorTester.checkDeclaration(of: app, fileID: fileID, line: line)
        let restoration = try app.restore(saved["state"] ?? saved)
        self.app = app
        self.id = id
        self.now = now
        self.losses = restoration.losses
        self.devices = [Device(NavigationState.firstDevice, role: restoration.state.role, restoration.state.client)]
        guard restoration.needsTransition else {
            self.state = restoration.state
            self.transition = Transition(event: nil)
            return
        }
        var run = restoration.transition(at: now)
        run.origin = .test(session: id)
        do throws(NavigationError) {
            let result = try await run.watchedResult(&findings)
            self.state = result.state
            self.transition = result.transition
        } catch {
            throw Failure(error, fileID: fileID, line: line)
        }
    }

    /// Refuses a declaration with which a server would not start.
    private static func checkDeclaration(of app: App, fileID: String, line: UInt) throws(Failure) {
        let mistakes = app.mistakes
        guard mistakes.isEmpty else { throw Failure(mistakes: mistakes, fileID: fileID, line: line) }
    }

    /// The content that a client would get for the visible screen.
    public func content(fileID: String = #fileID, line: UInt = #line) async throws(Failure) -> JSON {
        guard let key = state.visible?.key,
            let run = ContentRun(of: key, in: state, of: app, session: id, at: now)
        else { throw Failure(mistakes: ["the visible screen has no content"], fileID: fileID, line: line) }
        do throws(NavigationError) {
            let text = try await run.text()
            return (try? JSON(parsing: text, maximumDepth: 512)) ?? .null
        } catch {
            throw Failure(error, fileID: fileID, line: line)
        }
    }

    /// What the form of an accepted event shows at first: the values of its fields by name, or that of a payload without
    /// names. Empty if the form is; `nil` if the event has no form now.
    public func formValues(of event: String) -> JSON? {
        guard let schema = state.controls.first(where: { $0.type == event && $0.schema != nil })?.schema else {
            return nil
        }
        guard let properties = schema["properties"]?.object else { return schema["default"] ?? [:] }
        return .object(
            JSONObject(properties.members.compactMap { field in field.value["default"].map { (field.name, $0) } }))
    }

    /// Sentences about what the author can hardly want, though it is no error: screens that were pushed under a
    /// presented flow, where the user does not see them; functions of coordinators that blocked their thread for more
    /// than a second, which on a server delays other clients; screens that have no link now, because their parameters do
    /// not fit it, or a text among them cannot be in a path: it is empty, `.` or `..`, or has a zero byte; and fields that
    /// `Coordinator.fields(of:in:)` describes though the event does not have them.
    public var warnings: [String] {
        let fields = state.unknownField.map { ["“fields” names “\($0)”, which the event does not have."] } ?? []
        return (findings.hiddenScreens + findings.blockingCalls).map { "\($0)." } + state.warnings + fields
    }

    /// The session as a server saves it.
    public var saved: JSON { (try? JSON(parsing: state.encoded, maximumDepth: 512)) ?? .null }

    /// Posts an event as a client would.
    ///
    /// - Parameter screen: the key of the screen that the user acts on.
    public mutating func send(
        _ type: String, _ payload: JSON? = nil, screen: String? = nil, fileID: String = #fileID, line: UInt = #line
    ) async throws(Failure) {
        guard acting != nil else {
            throw Failure(mistakes: ["the device has no token any more; use another one"], fileID: fileID, line: line)
        }
        do throws(NavigationError) {
            let event = PostedEvent(type, payload: payload, screen: screen, address: address)
            let run = try app.begin(event, on: state, at: now, by: acting)
            keep(try await result(of: run, isDryRun: false, &findings))
        } catch {
            var isNotAccepted = [.eventNotAccepted, .payloadNotOffered, .unknownEvent].contains(error)
            if case .notForRole = error { isNotAccepted = true }
            var accepted = isNotAccepted ? state.acceptedEvents : []
            if accepted.contains(type) { accepted = state.payloadsToTry(of: type).map { "\(type) \($0 ?? [:])" } }
            if type == BuiltInEvent.answer.rawValue { accepted = state.buttonsToPress.map(\.id) }
            throw Failure(error, of: type, accepted: accepted, fileID: fileID, line: line)
        }
    }

    private func result(
        of begun: TransitionRun, isDryRun: Bool, _ findings: inout Findings
    ) async throws(NavigationError) -> TransitionResult {
        var run = begun
        run.origin = .test(
            session: id, transition: transitionCount + 1, user: user, isDryRun: isDryRun,
            sessions: sessions, device: run.isOfEvent ? acting : nil, devices: devices)
        return try await run.wholeResult(&findings)
    }

    private mutating func keep(_ result: TransitionResult) {
        transitionCount += 1
        findings.note(result.transition.event, from: state, to: result)
        state = result.state
        transition = result.transition
        if let change = transition.userChange { user = change.user }
        if transition.tokenRotation == .endingOthers { devices.removeAll { $0.number != used } }
        for number in transition.revokedDevices where devices.count > 1 { devices.removeAll { $0.number == number } }
    }

    /// The device that the test uses, as it describes itself now.
    var acting: Device? {
        devices.first { $0.number == used }
            .map { Device($0.number, label: $0.label, role: $0.role, state.client) }
    }

    /// Carries out what happened elsewhere than on the session's screens; nothing if the effect or timer is over.
    ///
    /// - Parameter name: that of the signal or effect.
    mutating func carryOut(
        _ occurrence: Occurrence, of name: String?, _ fileID: String, _ line: UInt
    ) async throws(Failure) {
        do throws(NavigationError) {
            guard let run = try app.begin(occurrence, on: state, at: now) else { return }
            keep(try await result(of: run, isDryRun: false, &findings))
        } catch {
            var accepted: [String] = []
            if case .signal = occurrence, error == .signalNotAccepted || error == .unknownSignal { accepted = signals }
            throw Failure(error, of: name, accepted: accepted, fileID: fileID, line: line)
        }
    }

    /// The session after an event, which leaves this one as it is: for several sessions at the same time.
    ///
    /// ```swift
    /// async let anns = ann.after("borrow")
    /// async let bobs = bob.after("borrow")
    /// ```
    public func after(
        _ type: String, _ payload: JSON? = nil, screen: String? = nil, fileID: String = #fileID, line: UInt = #line
    ) async throws(Failure) -> CoordinatorTester {
        var tester = self
        try await tester.send(type, payload, screen: screen, fileID: fileID, line: line)
        return tester
    }

    /// The session after an event of a coordinator, which leaves this one as it is.
    public func after(
        _ event: some NavigationEvent, fileID: String = #fileID, line: UInt = #line
    ) async throws(Failure) -> CoordinatorTester {
        var tester = self
        try await tester.send(event, fileID: fileID, line: line)
        return tester
    }

    /// What a client sees that posts an event of a coordinator with `dryRun`.
    public func preview(
        _ event: some NavigationEvent, fileID: String = #fileID, line: UInt = #line
    ) async throws(Failure) -> CoordinatorTester {
        guard let encoded = EncodedEvent(event, revealsSecrets: true) else {
            throw Failure(.eventNotAccepted, fileID: fileID, line: line)
        }
        return try await preview(encoded.name, encoded.payload, fileID: fileID, line: line)
    }

    /// What a client sees that posts an event with `dryRun`: handlers know it from `Navigator.session`.
    public func preview(
        _ type: String, _ payload: JSON? = nil, fileID: String = #fileID, line: UInt = #line
    ) async throws(Failure) -> CoordinatorTester {
        var tester = self
        do throws(NavigationError) {
            let event = PostedEvent(type, payload: payload, address: address)
            let run = try app.begin(event, on: state, at: now, by: acting)
            let result = try await result(of: run, isDryRun: true, &tester.findings)
            (tester.state, tester.transition) = (result.state, result.transition)
            return tester
        } catch {
            throw Failure(error, of: type, fileID: fileID, line: line)
        }
    }

    /// Posts an event of a coordinator; its secrets arrive unmasked.
    public mutating func send(
        _ event: some NavigationEvent, screen: String? = nil, fileID: String = #fileID, line: UInt = #line
    ) async throws(Failure) {
        guard let encoded = EncodedEvent(event, revealsSecrets: true) else {
            throw Failure(.eventNotAccepted, fileID: fileID, line: line)
        }
        try await send(encoded.name, encoded.payload, screen: screen, fileID: fileID, line: line)
    }
}

extension CoordinatorTester {
    /// Why a step of a test failed, and on which line of the test. Failures with the same reason are equal.
    public struct Failure: Error, Equatable, CustomStringConvertible {
        /// Why the session refused the step; `nil` if the app's declaration has mistakes, or if the visible screen has
        /// no content.
        public let reason: NavigationError?
        private let mistakes: [String]
        public let fileID: String
        public let line: UInt
        /// The type of the event that was refused, or the name of the signal or effect; `nil` if there was none.
        public let event: String?
        /// If the event or signal was not accepted, the types of those that are; if the event is accepted with the payloads
        /// of buttons and rows only, the event with these; if it was an `answer`, the ids of the alert's buttons.
        public let accepted: [String]

        public init(_ reason: NavigationError, fileID: String = #fileID, line: UInt = #line) {
            self.init(reason, of: nil, fileID: fileID, line: line)
        }

        init(
            _ reason: NavigationError? = nil, mistakes: [String] = [], of event: String? = nil, accepted: [String] = [],
            fileID: String, line: UInt
        ) {
            self.reason = reason
            self.mistakes = mistakes
            self.event = event
            self.accepted = accepted
            self.fileID = fileID
            self.line = line
        }

        public static func == (left: Failure, right: Failure) -> Bool {
            left.reason == right.reason && left.mistakes == right.mistakes
        }

        public var description: String {
            let words = reason.map(Failure.words) ?? mistakes.joined(separator: "; ")
            let refused = event.map { "“\($0)” was refused: \(words)" } ?? words
            let others = accepted.isEmpty ? "" : "; accepted now: " + accepted.joined(separator: ", ")
            return "\(fileID):\(line): \(refused)\(others)"
        }

        private static func words(for reason: NavigationError) -> String {
            switch reason {
            case .invalidEvent(let event):
                event.faults.map { fault in
                    let place = "the value at /\(fault.path.joined(separator: "/"))"
                    return fault.code == .refused
                        ? "\(place) was refused: “\(fault.reason)”" : "\(place) \(fault.reason)"
                }.joined(separator: ", ")
            case .unknownLink(let reason): reason
            case .notForRole(let role): "it is not for the role “\(role)” of the device"
            case .unknownEvent: "no coordinator of the app has such an event with an example"
            case .signalRefused(let names):
                "refused by " + names.map { "“\($0)”" }.joined(separator: ", ")
            case .unknownSignal: "no coordinator of the app lists such a signal as external"
            default: "\(reason)"
            }
        }
    }
}

// What a server knows of a session, for handlers that ask for it.
extension TransitionOrigin where Self == KnownOrigin {
    /// - Parameter transition: its number in the session, from 1.
    static func test(
        session: String = CoordinatorTester.someID, transition: Int = 1, user: String? = nil, isDryRun: Bool = false,
        sessions: [UserSession] = [], device: Device? = nil, devices: [Device] = []
    ) -> KnownOrigin {
        KnownOrigin(
            session: session, user: user, isDryRun: isDryRun,
            transitionID: "t_\(session.dropFirst(2))_\(transition)", device: device, devices: devices,
            sessions: sessions)
    }
}

extension JSON {
    /// The value as Swift source.
    var literal: String {
        switch self {
        case .null: ".null"
        case .bool, .integer, .number: description
        case .longNumber(let number): "JSON(parsing: Array(\"\(number.text)\".utf8))"
        case .string(let text): text.literal
        case .array(let values): "[\(values.map(\.literal).joined(separator: ", "))]"
        case .object(let object) where object.isEmpty: "[:]"
        case .object(let object):
            "[\(object.members.map { "\($0.name.literal): \($0.value.literal)" }.joined(separator: ", "))]"
        }
    }
}

extension String {
    /// The text as Swift source.
    var literal: String { debugDescription }
}
