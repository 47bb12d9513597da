import CoordinatorClient
import Foundation
import Synchronization
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// What happens while there is no connection. One after the other, since all share one network.
@Suite(.server, .serialized, .timeLimit(.minutes(1))) struct LossTests {
    /// A session that `Network` can cut off.
    private static func session(_ storage: any SessionStorage = NoStorage()) throws -> NavigationSession {
        NavigationSession(server: try TestServer.url, storage: storage, transport: Network.transport)
    }

    @Test func `a tap behind another one is withdrawn at its own deadline, and when it is cancelled`() async throws {
        let session = try LossTests.session()
        try await session.open(app: "shop")
        Network.isThere = false
        let first = Task { await session.post(.selectTab("search"), within: nil) }
        try await Task.sleep(for: .milliseconds(50))

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
}

/// The network of the sessions that use `transport`.
private final class Network: URLProtocol {
    private static let isCut = Mutex(false)

    static var isThere: Bool {
        get { isCut.withLock { !$0 } }
        set { isCut.withLock { $0 = !newValue } }
    }

    static var transport: Transport {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.protocolClasses = [Network.self] + (configuration.protocolClasses ?? [])
        isThere = true
        return Transport(configuration: configuration)
    }

    override static func canInit(with request: URLRequest) -> Bool { !isThere }
    override static func canonicalRequest(for request: URLRequest) -> URLRequest { request }
    override func startLoading() { client?.urlProtocol(self, didFailWithError: URLError(.networkConnectionLost)) }
    override func stopLoading() {}
}
