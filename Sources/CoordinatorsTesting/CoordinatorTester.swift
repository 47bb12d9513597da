public import Coordinators
public import FoundationEssentials
public import JSONCoding

/// One session of an app, without a server: post events, and look at what the user would see.
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
    public private(set) var state: NavigationState
    /// What the last event did.
    public private(set) var transition: Transition
    /// The time that handlers see as `Navigator.now`.
    public var now: Date
    /// Where events come from, as handlers see it in `Navigator.address`.
    public var address: ClientAddress?

    /// An arbitrary time, the same for every test.
    public static let someTime = Date(timeIntervalSince1970: 1_800_000_000)

    /// Opens a session.
    ///
    /// - Parameters:
    ///   - link: the path that is opened at once.
    ///   - client: what the client says about itself, as handlers see it in `Navigator.client`.
    public init(
        _ app: App, link: String? = nil, client: ClientInfo? = nil, now: Date = someTime, fileID: String = #fileID,
        line: UInt = #line
    ) async throws(Failure) {
        self.app = app
        self.now = now
        do throws(NavigationError) {
            var run = try app.beginLaunch(at: now, link: link, client: client)
            let first = try await run.result()
            self.state = first.state
            self.transition = first.transition
        } catch {
            throw Failure(error, fileID: fileID, line: line)
        }
    }

    /// Posts an event as a client would.
    ///
    /// - Parameter screen: the key of the screen that the user acts on.
    public mutating func send(
        _ type: String, _ payload: JSON? = nil, screen: String? = nil, fileID: String = #fileID, line: UInt = #line
    ) async throws(Failure) {
        do throws(NavigationError) {
            let event = PostedEvent(type, payload: payload, screen: screen, address: address)
            let result = try await app.apply(event, to: state, at: now)
            state = result.state
            transition = result.transition
        } catch {
            throw Failure(error, fileID: fileID, line: line)
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
    /// Why the session refused what a test did, and where the test did it. Failures with the same reason are equal.
    public struct Failure: Error, Equatable, CustomStringConvertible {
        public let reason: NavigationError
        public let fileID: String
        public let line: UInt

        public init(_ reason: NavigationError, fileID: String = #fileID, line: UInt = #line) {
            self.reason = reason
            self.fileID = fileID
            self.line = line
        }

        public static func == (left: Failure, right: Failure) -> Bool { left.reason == right.reason }

        public var description: String { "\(fileID):\(line): \(reason)" }
    }
}
