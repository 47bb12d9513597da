import Coordinators
import Foundation
import JSONCoding
import Sessions
import Synchronization
import Testing

/// Notes what its handlers know of their requests, outside of the session.
private struct TillCoordinator: Coordinator {
    enum Event: NavigationEvent {
        case pay(Int)
        case fail
        static let examples: [Event] = [.pay(1), .fail]
    }

    struct Declined: Error {}
    static let dependencies: [any Any.Type] = [Journal.self]

    func start(_ navigator: inout Navigator) throws {
        try navigator.resolve(Journal.self).note(navigator)
        navigator.push(Screen("till"))
    }

    func handle(_ event: Event, _ navigator: inout Navigator) throws {
        try navigator.resolve(Journal.self).note(navigator)
        if case .fail = event { throw Declined() }
    }
}

private final class Journal: Sendable {
    struct Entry: Equatable {
        let session: String
        let transition: String
        let isDryRun: Bool
    }

    let entries = Mutex<[Entry]>([])

    func note(_ navigator: Navigator) {
        let entry = Entry(
            session: navigator.session.id, transition: navigator.transitionID, isDryRun: navigator.isDryRun)
        entries.withLock { $0.append(entry) }
    }

    func last() -> Entry? { entries.withLock { $0.last } }
}

@Suite struct OriginTests {
    private let journal = Journal()

    private func host(
        reports: @escaping @Sendable (String) -> Void = { _ in },
        onError: (@Sendable (any Error, NavigationContext) -> Alert?)? = nil
    ) -> SessionHost {
        var dependencies = Dependencies()
        dependencies.register(Journal.self) { [journal] _ in journal }
        let app = App("till", root: { TillCoordinator() }, dependencies: dependencies, onError: onError)
        return SessionHost(apps: [app], store: MemoryStore(), settings: .unhurried, report: reports)
    }

    private func once(_ key: String) -> IdempotentRequest {
        IdempotentRequest(key: key, request: [UInt8](key.utf8)) { _ in [] }
    }

    @Test func `handlers know their session, also the first one, and whether the result is discarded`() async throws {
        let host = host()
        let created = try await host.create()
        #expect(journal.last()?.session == created.id.text && journal.last()?.isDryRun == false)
        let session = try await host.session(created.id, token: created.token.text)

        _ = try await session.preview(PostedEvent("pay", payload: 1))
        let preview = try #require(journal.last())
        _ = try await session.apply(PostedEvent("pay", payload: 1))
        let applied = try #require(journal.last())

        #expect(preview.isDryRun && !applied.isDryRun && preview.session == created.id.text)
        #expect(preview.transition != applied.transition && applied.transition.hasPrefix("t_"))
    }

    @Test func `an event that is tried again has the same transition id, another event another one`() async throws {
        let host = host()
        let created = try await host.create()
        let session = try await host.session(created.id, token: created.token.text)
        func id(_ type: String, _ payload: JSON?) async -> String? {
            _ = try? await session.apply(PostedEvent(type, payload: payload))
            return journal.last()?.transition
        }

        let first = await id("fail", nil)

        #expect(await id("fail", nil) == first)
        let paid = await id("pay", 1)
        #expect(paid != first)
        #expect(await id("pay", 2) != paid)
        #expect(await id("pay", 1) == paid, "nothing has changed, so it is the same version")

        // Under a key it does not depend on the version, which others may have raised meanwhile.
        func id(_ key: String) async -> String? {
            _ = try? await session.apply(PostedEvent("fail"), once: once(key))
            return journal.last()?.transition
        }
        let keyed = await id("a key")
        _ = try await session.apply(PostedEvent("describeClient", payload: ["locale": "de"]))
        #expect(await id("a key") == keyed)
        #expect(await id("another key") != keyed)
        #expect(await id("fail", nil) != first)
    }

    @Test func `an app may show an alert for an error, which is logged all the same`() async throws {
        let lines = Mutex<[String]>([])
        let host = host(reports: { line in lines.withLock { $0.append(line) } }) { error, _ in
            error is TillCoordinator.Declined ? Alert("Declined") : nil
        }
        let created = try await host.create()
        let session = try await host.session(created.id, token: created.token.text)

        guard case .applied(let applied) = try await session.apply(PostedEvent("fail")) else {
            Issue.record("no state")
            return
        }

        #expect(applied.state.navigation.alert?.alert.title == "Declined" && applied.state.version == 2)
        #expect(applied.transition.event == "fail")
        let reported = lines.withLock { $0 }
        #expect(
            reported == [
                """
                till, session \(created.id.text): till failed in handle(fail): Declined; the user is shown an alert
                """
            ])
        #expect(try await session.apply(PostedEvent("back")).state.navigation.alert == nil)
    }
}
