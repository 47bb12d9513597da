import Coordinators
import CoordinatorsTesting
import Testing

/// Starts a flow with a sheet, and presents another one over that.
private struct Base: Coordinator {
    enum Event: String, NavigationEvent, CaseIterable { case begin, cover, clear, end }

    static let everywhere = Event.allCases

    func start(_ navigator: inout Navigator) { navigator.push(Screen("base")) }

    func handle(_ event: Event, _ navigator: inout Navigator) {
        switch event {
        case .begin: navigator.start(Lower())
        case .cover: navigator.present(Cover())
        case .clear: navigator.tellChildren(Lower.self) { $1.endChildren() }
        case .end: navigator.tellChildren(Lower.self) { $1.finish() }
        }
    }
}

private struct Lower: Coordinator {
    func start(_ navigator: inout Navigator) {
        navigator.push(Screen("lower"))
        navigator.present(Sheet())
    }

    func willBeRemoved(_ reason: RemovalReason, in context: EffectContext) {}
}

private struct Sheet: Coordinator {
    enum Event: String, NavigationEvent, CaseIterable { case done }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("sheet")) }
    func handle(_ event: Event, _ navigator: inout Navigator) { navigator.finish() }
    func willBeRemoved(_ reason: RemovalReason, in context: EffectContext) {}
}

private struct Cover: Coordinator {
    func start(_ navigator: inout Navigator) { navigator.push(Screen("cover")) }
    func willBeRemoved(_ reason: RemovalReason, in context: EffectContext) {}
}

/// For which reason the clean-up of each coordinator that goes is recorded.
@Suite struct RemovalReasonTests {
    private func reasons(after events: String...) async throws -> [String] {
        let app = App("base", root: { Base() }, coordinators: [Lower.self, Sheet.self, Cover.self])
        var tester = try await CoordinatorTester(app)
        for event in events { try await tester.send(event) }
        return tester.pending.compactMap(\.cleanUp).map { "\($0.coordinator): \($0.reason)" }
    }

    @Test func `one that finishes, and one that is dismissed`() async throws {
        #expect(try await reasons(after: "begin", "done") == ["sheet: finished"])
        #expect(try await reasons(after: "begin", "dismiss") == ["sheet: dismissed"])
    }

    @Test func `endChildren removes descendants, and dismisses the flow of another coordinator above theirs`()
        async throws
    {
        #expect(try await reasons(after: "begin", "cover", "clear") == ["cover: dismissed", "sheet: removed"])
    }

    @Test func `one that finishes takes its descendants along`() async throws {
        #expect(try await reasons(after: "begin", "end") == ["sheet: dismissed", "lower: finished"])
    }
}
