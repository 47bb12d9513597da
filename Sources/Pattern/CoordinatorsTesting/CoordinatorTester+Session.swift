public import Coordinators
internal import JSONCoding

/// What the user would see, in a form that is easy to compare.
extension CoordinatorTester {
    /// All screens by their names, bottom first: `list, detail`. Tabs are written as `tabs[home*: home | plus: plus]`,
    /// the selected one with a star. Presented flows follow: `list + sheet[editor] + fullScreen[address, payment]`.
    public var stack: String {
        ([CoordinatorTester.text(of: state.stack)] + presented).joined(separator: " + ")
    }

    /// The names of the screens on the stack below all presented flows, bottom first.
    public var screens: [String] { state.stack.screens.map(\.screen.name) }

    /// The presented flows, bottom first: `sheet[editor]`.
    public var presented: [String] {
        state.presented.map { "\($0.style.rawValue)[\(CoordinatorTester.text(of: $0.stack))]" }
    }

    /// The innermost visible tabs, the selected one with a star: `["home*", "plus"]`; empty if there are no tabs.
    public var tabs: [String] {
        guard let tabs = state.visibleStacks.compactMap({ $0.screens.last?.tabs }).last else { return [] }
        return tabs.items.indices.map { CoordinatorTester.name(ofTab: $0, in: tabs) }
    }

    /// The name of the visible screen.
    public var visible: String? { state.visible?.screen.name }

    public var alert: Alert? { state.alert?.alert }

    /// The names of the living coordinators, parents before their children.
    public var coordinators: [String] { state.coordinators.map(\.name) }

    /// The events that may be sent now.
    public var events: [String] { state.acceptedEvents }

    /// The rows of the visible screen.
    public var rows: [Row] { state.visible?.screen.rows ?? [] }

    /// What `back()` would do.
    public var backPlan: BackPlan? { state.backPlan }

    private static func text(of stack: ScreenStack) -> String {
        stack.screens.map { screen in
            guard let tabs = screen.tabs else { return screen.screen.name }
            let items = tabs.items.enumerated().map { index, item in
                "\(name(ofTab: index, in: tabs)): \(text(of: item.stack))"
            }
            return "\(screen.screen.name)[\(items.joined(separator: " | "))]"
        }.joined(separator: ", ")
    }

    private static func name(ofTab index: Int, in tabs: PlacedTabs) -> String {
        tabs.items[index].id + (index == tabs.selection ? "*" : "")
    }
}

extension CoordinatorTester {
    /// Taps the button or the row of that title on the visible screen. What opens a form cannot be tapped: send its event.
    ///
    /// - Throws: `Failure` with the titles of what can be tapped, if there is no such title; also if the row is disabled.
    public mutating func tap(
        _ title: String, fileID: String = #fileID, line: UInt = #line
    ) async throws(Failure) {
        let tappable = self.tappable
        guard let (_, type, payload, isDisabled) = tappable.first(where: { $0.title == title }) else {
            let titles = tappable.map { "“\($0.title)”" }.joined(separator: ", ")
            let reason =
                "screen “\(visible ?? "")” has no “\(title)” to tap; there is: \(titles.isEmpty ? "nothing" : titles)"
            throw Failure(mistakes: [reason], fileID: fileID, line: line)
        }
        if isDisabled {
            throw Failure(mistakes: ["“\(title)” of screen “\(visible ?? "")” is disabled"], fileID: fileID, line: line)
        }
        try await send(type, payload, screen: state.visible?.key, fileID: fileID, line: line)
    }

    /// The buttons and rows of the visible screen.
    private var tappable: [(title: String, type: String, payload: JSON?, isDisabled: Bool)] {
        guard let screen = state.visible?.screen, alert == nil else { return [] }
        let buttons = state.controls.filter { $0.coordinator != nil && $0.schema == nil }
        return buttons.map { ($0.title, $0.type, $0.payload, false) }
            + screen.rows.compactMap { row in row.control.map { (row.title, $0.event, $0.payload, !$0.isEnabled) } }
    }
}

/// The events that every session accepts.
extension CoordinatorTester {
    public mutating func back(fileID: String = #fileID, line: UInt = #line) async throws(Failure) {
        try await send("back", fileID: fileID, line: line)
    }

    /// Goes back to the topmost screen of that name.
    public mutating func backTo(
        _ name: String, fileID: String = #fileID, line: UInt = #line
    ) async throws(Failure) {
        try await send("backTo", ["name": .string(name)], fileID: fileID, line: line)
    }

    public mutating func backToRoot(fileID: String = #fileID, line: UInt = #line) async throws(Failure) {
        try await send("backToRoot", fileID: fileID, line: line)
    }

    /// Dismisses the top presented flow.
    public mutating func dismiss(fileID: String = #fileID, line: UInt = #line) async throws(Failure) {
        try await send("dismiss", fileID: fileID, line: line)
    }

    /// Presses the alert's button of that id.
    public mutating func answer(
        _ button: String, fileID: String = #fileID, line: UInt = #line
    ) async throws(Failure) {
        let shown = state.alert.map { JSON.string($0.key) }
        let payload: JSON = shown.map { ["button": .string(button), "alert": $0] } ?? ["button": .string(button)]
        try await send("answer", payload, fileID: fileID, line: line)
    }

    public mutating func selectTab(
        _ id: String, fileID: String = #fileID, line: UInt = #line
    ) async throws(Failure) {
        try await send("selectTab", ["tab": .string(id)], fileID: fileID, line: line)
    }

    /// Opens a link.
    public mutating func open(_ path: String, fileID: String = #fileID, line: UInt = #line) async throws(Failure) {
        try await send("open", ["path": .string(path)], fileID: fileID, line: line)
    }

    public mutating func relaunch(fileID: String = #fileID, line: UInt = #line) async throws(Failure) {
        try await send("relaunch", fileID: fileID, line: line)
    }
}
