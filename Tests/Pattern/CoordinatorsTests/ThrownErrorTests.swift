import Coordinators
import CoordinatorsTesting
import Testing

private struct ThrowingCoordinator: Coordinator {
    enum Event: NavigationEvent, CaseIterable { case plain, payload, labelled, spoken, record, mirrored }

    enum Refusal: Error { case wrongPassword, unknown(String), locked(reason: String) }

    enum Spoken: Error, CustomStringConvertible {
        case secret(String)
        var description: String { "the password is canary" }
    }

    struct Record: Error { var password = "canary" }

    enum Mirrored: Error, CustomReflectable {
        case some(String)
        var customMirror: Mirror { Mirror(self, children: ["canary": 1], displayStyle: .enum) }
    }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("x")) }

    func handle(_ event: Event, _ navigator: inout Navigator) throws {
        switch event {
        case .plain: throw Refusal.wrongPassword
        case .payload: throw Refusal.unknown("canary")
        case .labelled: throw Refusal.locked(reason: "canary")
        case .spoken: throw Spoken.secret("canary")
        case .record: throw Record()
        case .mirrored: throw Mirrored.some("canary")
        }
    }
}

@Suite struct ThrownErrorTests {
    @Test(arguments: [
        ("plain", "Refusal.wrongPassword"), ("payload", "Refusal.unknown"), ("labelled", "Refusal.locked"),
        ("spoken", "Spoken.secret"), ("record", "Record"), ("mirrored", "Mirrored"),
    ])
    func `a thrown error is reported by its type and its case, without its values`(
        event: String, text: String
    ) async throws {
        var app = try await CoordinatorTester(App("throwing", root: { ThrowingCoordinator() }))
        do {
            try await app.send(event)
            Issue.record("it did not throw")
        } catch {
            guard case .handlerFailed(_, _, let thrown) = error.reason else { throw error }
            #expect(thrown.description == text)
        }
    }
}
