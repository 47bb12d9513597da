public import JSONCoding

/// A stack of screens, bottom first.
public struct ScreenStack: Sendable, Equatable {
    package let id: Int
    public internal(set) var screens: [PlacedScreen] = []
}

/// A screen on a stack, with a key of its own. Immutable: a change replaces it by another object with the same key.
public final class PlacedScreen: Sendable {
    /// Unique in the session, never reused.
    public let key: String
    public let screen: Screen
    /// The id of the coordinator that it belongs to.
    public let coordinator: Int
    public let tabs: PlacedTabs?
    /// The screen in the selected tab, which the user sees in place of this one; `nil` if the user sees this one
    /// itself.
    private let seenThroughTabs: PlacedScreen?
    /// The screen as JSON text, made once, because a screen is sent and saved far more often than it changes.
    private let encoding: Encoding

    private struct Encoding {
        /// The members that clients read and that are saved, then those for clients only, then those that are only
        /// saved.
        let text: [UInt8]
        let endOfShared: Int
        let endForClients: Int
        /// The bytes that are saved, known without reading `text`.
        let savedSize: Int
        let isUnlinked: Bool
        let isUnwritable: Bool
        /// See `PlacedScreen.offered`.
        let offered: EventSet?
        /// See `PlacedScreen.carried`.
        let carried: EventSet?
    }

    init(key: String, screen: Screen, coordinator: LivingCoordinator, tabs: PlacedTabs? = nil) {
        self.key = key
        self.screen = screen.withoutLabels
        self.coordinator = coordinator.id
        self.tabs = tabs
        self.seenThroughTabs = tabs?.visible
        self.encoding = PlacedScreen.encoding(key, screen, coordinator)
    }

    /// The members that are only saved: clients do not see them.
    static let membersForEngine = ["events", "eventRoles", "linkPattern", "back", "roles"]

    private static func encoding(_ key: String, _ screen: Screen, _ coordinator: LivingCoordinator) -> Encoding {
        var writer = JSONWriter()
        writer.member("key", key)
        writer.member("name", screen.name)
        writer.member("title", ifAny: screen.title)
        writer.member("params", ifAny: screen.params.isEmpty ? nil : screen.params)
        let path = screen.link?.path(screen.params)
        writer.member("link", ifAny: path)
        writer.member("eventTitles", ifAny: screen.eventTitles)
        writer.member("eventValues", ifAny: screen.eventValues)
        let carries = screen.hasCarryingControls
        if carries { writer.carryingControls(of: screen) }
        writer.member("hidesNavigationBar", ifAny: screen.hidesNavigationBar ? true : nil)
        if screen.hasContent {
            writer.member("hasContent", true)
            writer.member("contentVersion", ifAny: screen.contentVersion == 0 ? nil : screen.contentVersion)
        }
        let endOfShared = writer.count
        writer.member("coordinator", coordinator.name)
        let endForClients = writer.count
        if let events = screen.events { writer.events(events) }
        writer.member("eventRoles", ifAny: screen.eventRoles)
        writer.member("linkPattern", ifAny: screen.link?.text)
        writer.member("back", ifAny: screen.back == .allowed ? nil : screen.back.rawValue)
        writer.member("roles", ifAny: screen.roles.isEmpty ? nil : screen.roles.map(\.name))
        writer.member("coordinator", coordinator.id)
        return Encoding(
            text: writer.bytes, endOfShared: endOfShared, endForClients: endForClients,
            savedSize: endOfShared + writer.count - endForClients,
            isUnlinked: path == nil && screen.link != nil, isUnwritable: writer.isUnwritable,
            offered: coordinator.type.offered(on: screen),
            carried: carries ? coordinator.type.carried(on: screen) : nil)
    }

    /// The same key, coordinator and tabs, with another screen.
    convenience init(_ other: PlacedScreen, screen: Screen, of coordinator: LivingCoordinator) {
        self.init(key: other.key, screen: screen, coordinator: coordinator, tabs: other.tabs)
    }

    private init(_ other: PlacedScreen, tabs: PlacedTabs) {
        self.key = other.key
        self.screen = other.screen
        self.coordinator = other.coordinator
        self.tabs = tabs
        self.seenThroughTabs = tabs.visible
        self.encoding = other.encoding
    }

    /// The screen's members as clients read them, without the tabs, as JSON text. `coordinator` is the coordinator's
    /// name.
    public var encodedMembers: ArraySlice<UInt8> { encoding.text[..<encoding.endForClients] }

    /// Writes the same members as they are saved: with the coordinator's id instead of its name, and with what only the
    /// engine reads: events, back rule, link pattern.
    func saveMembers(to writer: inout JSONWriter) {
        writer.encoded(encoding.text[..<encoding.endOfShared])
        // Without the comma, which the writer adds itself.
        writer.encoded(encoding.text[(encoding.endForClients + 1)...])
    }

    /// Whether two screens are written alike, without their tabs.
    func hasSameMembers(as other: PlacedScreen) -> Bool { encoding.text == other.encoding.text }

    /// Whether clients and the engine see nothing else in two screens, apart from what is in their tabs.
    func isDrawn(as other: PlacedScreen) -> Bool {
        guard hasSameMembers(as: other) else { return false }
        guard let items = tabs?.items, let others = other.tabs?.items else { return true }
        return items.count == others.count && items.indices.allSatisfy { items[$0].isLabelled(as: others[$0]) }
    }

    /// The events that the screen offers with any payload that they take; `nil` if these are all events of its
    /// coordinator, because it names none and has no rows.
    var offered: EventSet? { encoding.offered }

    /// The events that the screen offers with the payloads of controls that carry them; `nil` if it has no such controls.
    var carried: EventSet? { encoding.carried }

    /// Whether the screen has a link pattern but no link, because its parameters make no path of it.
    package var isUnlinked: Bool { encoding.isUnlinked }

    /// See `JSONWriter.isUnwritable`.
    var isUnwritable: Bool { encoding.isUnwritable }

    /// The number of bytes that `saveMembers` writes.
    var savedSize: Int { encoding.savedSize }

    func with(_ tabs: PlacedTabs) -> PlacedScreen {
        PlacedScreen(self, tabs: tabs)
    }

    /// Visits this screen, then those in its tabs, which are removed with it.
    func forEachWithin(_ visit: (PlacedScreen) -> Void) {
        visit(self)
        guard let tabs else { return }
        for tab in tabs.items { tab.stack.forEachScreen(visit) }
    }

    /// The screen that the user sees if this one is on top: this screen, or the one in its selected tab.
    var visible: PlacedScreen { seenThroughTabs ?? self }
}

/// The tabs of a screen, each with a stack of its own.
public struct PlacedTabs: Sendable, Equatable {
    /// The position of the selected tab, from 0.
    public private(set) var selection: Int
    public internal(set) var items: [PlacedTab]
    package let back: TabBackRule
    /// The positions that were selected before, each once, the most recent last. Kept only if `back` is `.history`.
    package internal(set) var history: [Int] = []

    /// At least the number of bytes that are saved of the tabs, without their screens.
    var labelSize: Int {
        // `"tabs":{"selection":10,"back":"firstTab","history":[10,11],"items":[]}`
        items.reduce(72 + 4 * history.count) { $0 + $1.labelSize }
    }

    mutating func select(_ position: Int, history: [Int]) {
        self.history = history
        selection = position
    }

    /// Other tabs, of which those whose ids were there before count as the same: the selected one stays selected, or the
    /// one at its position is, or the last; and the history stays.
    func replaced(by items: [PlacedTab]) -> PlacedTabs {
        let position = { (old: Int) in items.firstIndex { $0.id == self.items[old].id } }
        let selection = position(selection) ?? min(selection, items.count - 1)
        return PlacedTabs(
            selection: selection, items: items, back: back,
            history: history.compactMap(position).filter { $0 != selection })
    }

    /// The position that `back` selects at the first screen of the selected tab.
    var previous: Int? {
        switch back {
        case .nothing: nil
        case .firstTab: selection == 0 ? nil : 0
        case .history: history.last
        }
    }

    /// Selects a position of the history, and removes it and all later ones from the history.
    mutating func selectPrevious(_ position: Int) {
        if let index = history.lastIndex(of: position) { history.removeSubrange(index...) }
        selection = position
    }

    public var selected: PlacedTab { items[selection] }

    /// The screen that the user sees in the selected tab.
    var visible: PlacedScreen? { selected.stack.screens.last?.visible }

    func position(of id: String) -> Int? {
        items.firstIndex { $0.id == id }
    }

    /// The same, looked for first where it probably is.
    func position(of id: String, near position: Int) -> Int? {
        position < items.count && items[position].id == id ? position : self.position(of: id)
    }
}

/// A tab and its stack. Immutable, like a screen.
public final class PlacedTab: Sendable {
    public let id: String
    public let title: String?
    public let icon: String?
    public let badge: String?
    public let stack: ScreenStack
    /// At least the number of bytes that are saved of it, without its screens.
    let labelSize: Int
    /// The tab as clients read it: JSON text, made once, because most events leave most tabs as they are.
    public let encoded: [UInt8]

    init(id: String, title: String?, icon: String?, badge: String?, stack: ScreenStack) {
        self.id = id
        self.title = title
        self.icon = icon
        self.badge = badge
        self.stack = stack
        var labelSize = 0
        var writer = JSONWriter(capacity: 512)
        writer.object { writer in
            writer.member("id", id)
            writer.member("title", ifAny: title)
            writer.member("icon", ifAny: icon)
            writer.member("badge", ifAny: badge)
            // `,"stack":{"id":4503599627370496,"screens":[]}},`
            labelSize = writer.count + 48
            writer.member("stack", stack)
        }
        self.labelSize = labelSize
        self.encoded = writer.bytes
    }

    func isLabelled(as other: PlacedTab) -> Bool {
        self === other || id == other.id && title == other.title && icon == other.icon && badge == other.badge
    }

    func with(_ stack: ScreenStack) -> PlacedTab {
        PlacedTab(id: id, title: title, icon: icon, badge: badge, stack: stack)
    }
}

extension ScreenStack {
    /// The innermost visible screen with tabs among which `choose` finds a position.
    func visibleTab(_ choose: (PlacedTabs) -> Int?) -> (screen: PlacedScreen, position: Int)? {
        guard let screen = screens.last, let tabs = screen.tabs else { return nil }
        return tabs.selected.stack.visibleTab(choose) ?? choose(tabs).map { (screen, $0) }
    }

    /// The stack of the selected tab on the top screen.
    var selectedTabStack: ScreenStack? { screens.last?.tabs?.selected.stack }

    /// Visits every screen, those in tabs after the one that has the tabs.
    func forEachScreen(_ visit: (PlacedScreen) -> Void) {
        for screen in screens { screen.forEachWithin(visit) }
    }

    /// Visits this stack and those in tabs.
    func forEachStack(_ visit: (ScreenStack) -> Void) {
        visit(self)
        for screen in screens {
            guard let tabs = screen.tabs else { continue }
            for item in tabs.items { item.stack.forEachStack(visit) }
        }
    }

    /// Whether this is the stack of that id, or contains it in a tab.
    func contains(_ id: Int) -> Bool { self.id == id || nesting(of: id) != nil }

    /// How many of its screens are around the stack of that id, each in a tab of the one before; `nil` if it is elsewhere.
    func nesting(of id: Int) -> Int? {
        for screen in screens {
            for tab in screen.tabs?.items ?? [] {
                if tab.stack.id == id { return 1 }
                if let nesting = tab.stack.nesting(of: id) { return nesting + 1 }
            }
        }
        return nil
    }

    /// How many screens are within each other at most.
    var depth: Int {
        var depth = screens.isEmpty ? 0 : 1
        for screen in screens {
            for tab in screen.tabs?.items ?? [] { depth = max(depth, 1 + tab.stack.depth) }
        }
        return depth
    }

    /// Passes each stack, this one and those in tabs, to `change` until `change` returns that it has changed one.
    ///
    /// - Returns: whether one was changed.
    @discardableResult
    mutating func changeFirst(where change: (inout ScreenStack) -> Bool) -> Bool {
        if change(&self) { return true }
        for (index, screen) in screens.enumerated() {
            guard var tabs = screen.tabs else { continue }
            for (position, tab) in tabs.items.enumerated() {
                var stack = tab.stack
                guard stack.changeFirst(where: change) else { continue }
                tabs.items[position] = tab.with(stack)
                screens[index] = screen.with(tabs)
                return true
            }
        }
        return false
    }

    /// Removes all screens that match, here and in tabs, with those in their own tabs.
    ///
    /// - Returns: whether there were any.
    @discardableResult
    mutating func removeScreens(where matches: (PlacedScreen) -> Bool) -> Bool {
        var isAny = screens.contains(where: matches)
        if isAny { screens.removeAll(where: matches) }
        for (index, screen) in screens.enumerated() {
            guard var tabs = screen.tabs else { continue }
            var hasChanged = false
            for (position, tab) in tabs.items.enumerated() {
                var stack = tab.stack
                guard stack.removeScreens(where: matches) else { continue }
                tabs.items[position] = tab.with(stack)
                hasChanged = true
            }
            guard hasChanged else { continue }
            screens[index] = screen.with(tabs)
            isAny = true
        }
        return isAny
    }
}

// The controls of a screen: `"buttons":[{"type":"sort","payload":"name"}]` and
// `"rows":[{"title":"Ann Lee","detail":"12A","type":"toggle","payload":{"id":1},"role":"navigation"}]`, and for the
// engine their order: `"events":["search",0]`, where a number is the position of a button.
extension JSONWriter {
    fileprivate mutating func carryingControls(of screen: Screen) {
        if let events = screen.events, events.contains(where: { $0.payload != nil }) {
            array("buttons", events) { control, writer in
                guard control.payload != nil else { return }
                writer.object { writer in
                    writer.members(of: control)
                    writer.member("title", ifAny: control.title)
                }
            }
        }
        guard !screen.rows.isEmpty else { return }
        array("rows", screen.rows) { row, writer in
            writer.object { writer in
                writer.member("title", row.title)
                writer.member("detail", ifAny: row.detail)
                writer.member("isSelected", ifAny: row.isSelected)
                if let control = row.control { writer.members(of: control) }
            }
        }
    }

    private mutating func members(of control: Control) {
        member("type", control.event)
        member("payload", ifAny: control.payload)
        member("role", ifAny: control.role?.rawValue)
        member("isEnabled", ifAny: control.isEnabled ? nil : false)
    }

    fileprivate mutating func events(_ controls: [Control]) {
        var buttons = 0
        array("events", controls) { control, writer in
            if control.payload == nil {
                writer.value(control.event)
            } else {
                writer.value(buttons)
                buttons += 1
            }
        }
    }
}

// Stacks and tabs as clients read them (`NavigationScreen` in `openapi.yaml`).
extension ScreenStack: JSONWritable {
    public func write(to writer: inout JSONWriter) {
        writer.array { writer in
            for screen in screens {
                writer.object { writer in
                    writer.encoded(screen.encodedMembers)
                    if let tabs = screen.tabs { writer.member("tabs", tabs) }
                }
            }
        }
    }
}

extension PlacedTabs: JSONWritable {
    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("selected", selected.id)
            writer.array("items", items) { tab, writer in writer.encoded(tab.encoded) }
        }
    }
}
