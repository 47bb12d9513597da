import CoordinatorClient
import Foundation
import Synchronization
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// What happens while there is no connection. One after the other, since all share one network.
@Suite(.server, .serialized, .timeLimit(.minutes(10))) struct LossTests {
    /// A session that `Network` can cut off.
    private static func session(_ storage: any SessionStorage = NoStorage()) throws -> NavigationSession {
        NavigationSession(server: try TestServer.url, storage: storage, transport: Network.transport)
    }

    @Test func `a tap behind another one is withdrawn at its own deadline, and when it is cancelled`() async throws {
        let session = try LossTests.session()
        try await session.open(app: "shop", within: .seconds(3600))
        let updates = await session.updates()
        Network.isThere = false
        let first = Task { await session.post(.selectTab("search"), within: nil) }
        for await case .disconnected in updates { break }

        let late = Task { await session.post(.selectTab("cart"), within: .milliseconds(50)) }
        let cancelled = Task { await session.post(.selectTab("home"), within: nil) }
        try await Task.sleep(for: .milliseconds(20))
        cancelled.cancel()

        for outcome in [await late.value, await cancelled.value] {
            guard case .withdrawn(.notCarriedOut) = outcome else { throw Unexpected(outcome) }
        }
        Network.isThere = true
        await session.retryNow()
        #expect(await first.value.isDone)
        #expect(await session.post(.selectTab("home")).isDone)
    }

    /// A key on the way that has never arrived, as it is saved before an event is sent.
    private static func storageWithEvent() async throws -> MemoryStorage {
        let storage = MemoryStorage()
        try await TestServer.open("shop", storage: storage)
        let key = #""event":"00000000-1111-2222-3333-444444444444","id""#
        try storage.save(Data(storage.text.replacing(#""id""#, with: key).utf8))
        return storage
    }

    @Test(arguments: [true, false])
    func `what became of an event is reported as soon as the server is heard again`(follows: Bool) async throws {
        let session = try LossTests.session(try await LossTests.storageWithEvent())
        Network.isThere = false
        await #expect(throws: SessionError.self) { try await session.resume(within: .milliseconds(100)) }
        var updates = await session.updates().makeAsyncIterator()
        guard case .settled(.unknown) = await updates.next() else { throw Unexpected("no first report") }

        Network.isThere = true
        let following = Task { if follows { await session.follow() } else { _ = try? await session.read() } }
        defer { following.cancel() }

        while let update = await updates.next() {
            guard case .settled(let withdrawal) = update else { continue }
            guard case .notCarriedOut = withdrawal else { throw Unexpected(withdrawal) }
            break
        }
    }

    @Test func `a loss is reported once, whoever notices it`() async throws {
        let session = try LossTests.session()
        try await session.open(app: "shop", within: .seconds(3600))
        let updates = await session.updates()
        Network.isThere = false
        let following = Task { await session.follow() }
        defer { following.cancel() }

        let post = Task { await session.post(.selectTab("cart")) }
        // Time for both to notice it.
        try await Task.sleep(for: .milliseconds(300))
        Network.isThere = true
        await session.retryNow()
        #expect(await post.value.isDone)

        var losses = 0
        for await update in updates {
            if case .disconnected = update { losses += 1 }
            if case .connected = update { break }
        }
        #expect(losses == 1)
    }

    @Test func `a connection that says nothing is said after three seconds, and left for another one`() async throws {
        let session = try LossTests.session()
        try await session.open(app: "shop", within: .seconds(3600))
        let updates = await session.updates()
        Network.isDeaf = true
        let post = Task { await session.post(.selectTab("cart")) }
        for await case .disconnected in updates { break }
        Network.isDeaf = false

        #expect(await post.value.isDone)
    }

    @Test func `an event that is on the way when another session is opened is over with its own`() async throws {
        let session = try LossTests.session()
        try await session.open(app: "shop", within: .seconds(3600))
        Network.isDeaf = true
        let post = Task { await session.post(.selectTab("cart")) }
        while !Network.isHeld { try await Task.sleep(for: .milliseconds(5)) }
        Network.isDeaf = false

        try await session.open(app: "numbers", within: .seconds(3600))

        guard case .ended(.replaced) = await post.value else { throw Unexpected(await post.value) }
        #expect(await session.post(NavigationEvent("push", 5)).isDone)
    }

    @Test func `what opens another session and gets no answer leaves the one that is open`() async throws {
        let storage = MemoryStorage()
        let session = try LossTests.session(storage)
        try await session.open(app: "shop", within: .seconds(3600))
        let kept = storage.text
        Network.isThere = false

        await #expect(throws: SessionError.self) { try await session.open(app: "numbers", within: .milliseconds(100)) }

        #expect(storage.text == kept)
        Network.isThere = true
        #expect(await session.post(.selectTab("cart")).isDone)
    }

    @Test func `a start has a deadline, and an address that is none is refused at once`() async throws {
        let session = try LossTests.session()
        Network.isThere = false
        await #expect(throws: SessionError.self) { try await session.start(app: "shop", within: .milliseconds(100)) }
        for address in ["ftp://127.0.0.1", "shop", "http:"] {
            let session = NavigationSession(server: try #require(URL(string: address)), storage: NoStorage())
            do {
                try await session.start(app: "shop")
            } catch {
                guard case .badAddress = error else { throw Unexpected(error) }
            }
        }
    }
}

/// The network of the sessions that use `transport`.
private final class Network: URLProtocol {
    private struct State { var isCut = false, isDeaf = false, isHeld = false }
    private static let state = Mutex(State())

    static var isThere: Bool {
        get { state.withLock { !$0.isCut } }
        set { state.withLock { $0.isCut = !newValue } }
    }

    /// Whether it takes requests and never answers them.
    static var isDeaf: Bool {
        get { state.withLock { $0.isDeaf } }
        set { state.withLock { ($0.isDeaf, $0.isHeld) = (newValue, false) } }
    }

    /// Whether it has taken one since it became deaf.
    static var isHeld: Bool { state.withLock { $0.isHeld } }

    static var transport: Transport {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.protocolClasses = [Network.self] + (configuration.protocolClasses ?? [])
        (isThere, isDeaf) = (true, false)
        return Transport(configuration: configuration)
    }

    override static func canInit(with request: URLRequest) -> Bool { !isThere || isDeaf }
    override static func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    override func startLoading() {
        if Network.isDeaf { return Network.state.withLock { $0.isHeld = true } }
        client?.urlProtocol(self, didFailWithError: URLError(.networkConnectionLost))
    }

    override func stopLoading() {}
}
