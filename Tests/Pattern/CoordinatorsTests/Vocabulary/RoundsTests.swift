import Coordinators
import CoordinatorsTesting
import TestSupport
import Testing

/// A list whose items are edited in a sheet.
struct ItemsCoordinator: Coordinator {
    enum Event: NavigationEvent, CaseIterable { case edit, show, showFlow }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("list")) }

    func handle(_ event: Event, _ navigator: inout Navigator) {
        switch event {
        case .edit: navigator.present(EditorCoordinator())
        case .show: navigator.push(Screen("detail"))
        case .showFlow: navigator.start(EditorCoordinator())
        }
    }
}

struct EditorCoordinator: Coordinator {
    enum Event: NavigationEvent, CaseIterable { case save }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("editor")) }
    func handle(_ event: Event, _ navigator: inout Navigator) { navigator.finish() }
}

/// Whatever stays behind after a round is a leak.
@Suite struct RoundsTests {
    static let app = App("items", root: ItemsCoordinator.init, coordinators: [EditorCoordinator.self])

    @Test(arguments: [["edit", "dismiss"], ["show", "back"], ["showFlow", "back"], ["edit", "save"]])
    func `thousands of rounds leave nothing behind`(round: [String]) async throws {
        var app = try await CoordinatorTester(RoundsTests.app)
        let size = RoundsTests.sizeWithoutDigits(app)

        for _ in 0..<Scale.rounds(1000, long: 10_000) {
            for event in round { try await app.send(event) }
            await Task.yield()
        }

        #expect(app.stack == "list")
        #expect(app.coordinators == ["items"])
        #expect(RoundsTests.sizeWithoutDigits(app) == size)
    }

    /// Without digits, because keys and ids grow by a digit now and then.
    static func sizeWithoutDigits(_ app: CoordinatorTester) -> Int {
        app.state.encoded.count { !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}
