package import JSONCoding

// How a state is saved: as JSON with stable names, which a person can read. The code is written by hand instead of
// using `Codable`, because it runs for every event. `Restoration.swift` reads the result; random walks test the round
// trip.

extension NavigationState {
    /// The state as JSON text. Equal states give equal bytes.
    public var encoded: [UInt8] {
        var writer = JSONWriter(capacity: 1000)
        save(to: &writer)
        return writer.bytes
    }

    /// Writes the state as a JSON value.
    ///
    /// - Parameter base: the parts of the base state, which are referred to by their names instead of written; `nil` to
    ///   save the state whole.
    package func save(to writer: inout JSONWriter, against base: SharedParts? = nil) {
        writer.object { writer in
            writer.member("version", coordinators.first?.type.version ?? 0)
            writer.member("lastKey", lastKey)
            writer.member("lastID", lastID)
            writer.name("defaults")
            writer.encoded(defaults.encoded)
            writer.array("coordinators", coordinators) { living, writer in
                if base.has(living) { writer.value(living.id) } else { writer.encoded(living.encoded) }
            }
            writer.name("stack")
            stack.save(to: &writer, against: base)
            if !presented.isEmpty {
                writer.array("presented", presented) { $0.save(to: &$1, against: base) }
            }
            if let alert {
                writer.name("alert")
                alert.save(to: &writer)
            }
            if let pendingLink {
                writer.object("pendingLink") { writer in
                    writer.member("path", pendingLink.path)
                    writer.member("coordinator", ifAny: pendingLink.coordinator)
                    writer.member("until", ifAny: pendingLink.flow)
                }
            }
            if let agreement {
                writer.name("agreement")
                agreement.save(to: &writer)
            }
            if !pending.isEmpty { writer.array("pending", pending) { $0.save(to: &$1) } }
            if shared != base.shared {
                writer.name("shared")
                writer.encoded(shared.encoded)
            }
            if client != base.client { writer.member("client", client.values) }
            writer.member("role", ifAny: role?.name)
            writer.member("inheritedID", ifAny: inheritedID == 0 ? nil : inheritedID)
        }
    }

    /// The number of bytes that the state's content takes when it is saved.
    ///
    /// - Parameter parts: the parts of the base state against which it is saved. They are not counted.
    package func savedSize(beside parts: SharedParts? = nil) -> Int {
        var size = defaults.encoded.count
        for coordinator in coordinators where !parts.has(coordinator) { size += coordinator.encodedSize }
        size += stack.savedSize(beside: parts)
        for flow in presented { size += flow.stack.savedSize(beside: parts) }
        if shared != parts.shared { size += shared.encoded.count }
        return size + alertSize + pendingSize + (client == parts.client ? 0 : clientSize)
    }

    /// The size that `App.sizeLimit` bounds, in bytes.
    package func size(with screens: [PlacedScreen]) -> Int {
        var size = defaults.encoded.count + shared.encoded.count
        for coordinator in coordinators { size += coordinator.encodedSize }
        for screen in screens { size += screen.savedSize + (screen.tabs?.labelSize ?? 0) }
        return size + alertSize + pendingSize + clientSize
    }

    private var clientSize: Int {
        client.values.isEmpty ? 0 : JSONWriter.bytes(capacity: 256) { client.values.write(to: &$0) }.count
    }

    /// The saved size of all effects and timers, in bytes.
    private var pendingSize: Int {
        guard !pending.isEmpty else { return 0 }
        var writer = JSONWriter()
        for work in pending { work.save(to: &writer) }
        return writer.count
    }

    /// The saved size of all alerts, with the events of their buttons, and of an agreement, in bytes.
    private var alertSize: Int {
        guard alert != nil || agreement != nil else { return 0 }
        var writer = JSONWriter()
        alert?.save(to: &writer)
        agreement?.save(to: &writer)
        return writer.count
    }
}

extension ScreenStack {
    /// The bytes of the stack's screens that the base state lacks. Everything within a shared part is shared, too.
    fileprivate func savedSize(beside parts: SharedParts?) -> Int {
        var size = 0
        for screen in screens where !parts.has(screen) {
            size += screen.savedSize
            guard let tabs = screen.tabs else { continue }
            for tab in tabs.items where !parts.has(tab) {
                size += tab.labelSize + tab.stack.savedSize(beside: parts)
            }
        }
        return size
    }
}

// Two values are equal if they are saved alike. The same object need not be compared with itself.

extension NavigationState: Equatable {
    public static func == (left: NavigationState, right: NavigationState) -> Bool {
        left.lastKey == right.lastKey && left.lastID == right.lastID && left.alert == right.alert
            && left.stack == right.stack && left.presented == right.presented
            && left.coordinators == right.coordinators && left.defaults == right.defaults && left.shared == right.shared
            && left.pendingLink == right.pendingLink && left.agreement == right.agreement
            && left.pending == right.pending && left.viewer == right.viewer
            && left.inheritedID == right.inheritedID
    }
}

extension LivingCoordinator: Equatable {
    public static func == (left: LivingCoordinator, right: LivingCoordinator) -> Bool {
        left === right || left.encoded == right.encoded
    }
}

extension PlacedScreen: Equatable {
    public static func == (left: PlacedScreen, right: PlacedScreen) -> Bool {
        left === right || (left.hasSameMembers(as: right) && left.tabs == right.tabs)
    }
}

extension PlacedTab: Equatable {
    public static func == (left: PlacedTab, right: PlacedTab) -> Bool {
        left === right
            || (left.id == right.id && left.title == right.title && left.icon == right.icon && left.badge == right.badge
                && left.stack == right.stack)
    }
}

extension ScreenStack {
    fileprivate func save(to writer: inout JSONWriter, against base: SharedParts?) {
        writer.object { writer in
            writer.member("id", id)
            writer.array("screens", screens) { screen, writer in
                if base.has(screen) { writer.value(screen.key) } else { screen.save(to: &writer, against: base) }
            }
        }
    }
}

extension PlacedScreen {
    fileprivate func save(to writer: inout JSONWriter, against base: SharedParts?) {
        writer.object { writer in
            saveMembers(to: &writer)
            if let tabs {
                writer.name("tabs")
                tabs.save(to: &writer, against: base)
            }
        }
    }
}

extension PresentedFlow {
    fileprivate func save(to writer: inout JSONWriter, against base: SharedParts?) {
        writer.object { writer in
            writer.member("key", key)
            writer.member("style", style.rawValue)
            writer.member("detent", ifAny: detent?.rawValue)
            writer.member("isDismissable", ifAny: isDismissable ? nil : false)
            writer.member("coordinator", coordinator)
            writer.name("stack")
            stack.save(to: &writer, against: base)
        }
    }
}

extension PlacedTabs {
    fileprivate func save(to writer: inout JSONWriter, against base: SharedParts?) {
        writer.object { writer in
            writer.member("selection", selection)
            writer.member("back", ifAny: back == .nothing ? nil : back.rawValue)
            writer.member("history", ifAny: history.isEmpty ? nil : history)
            writer.array("items", items) { tab, writer in
                if base.has(tab) { writer.value(tab.id) } else { tab.save(to: &writer, against: base) }
            }
        }
    }
}

extension PlacedTab {
    fileprivate func save(to writer: inout JSONWriter, against base: SharedParts?) {
        writer.object { writer in
            writer.member("id", id)
            writer.member("title", ifAny: title)
            writer.member("icon", ifAny: icon)
            writer.member("badge", ifAny: badge)
            writer.name("stack")
            stack.save(to: &writer, against: base)
        }
    }
}

extension PresentedAlert {
    fileprivate func save(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("key", key)
            writer.member("coordinator", coordinator)
            writer.member("title", alert.title)
            writer.member("message", ifAny: alert.message)
            writer.array("buttons", alert.buttons) { $0.save(to: &$1) }
            if let heldUp {
                writer.object("heldUp") { writer in
                    writer.member("type", heldUp.type)
                    writer.member("payload", ifAny: heldUp.payload)
                }
            }
            writer.member("askedFor", ifAny: askedFor)
            if let question { writer.object("question") { question.save(to: &$0) } }
            guard let next else { return }
            writer.name("next")
            next.save(to: &writer)
        }
    }
}

extension PendingWork {
    /// As it is saved.
    var json: JSON {
        (try? JSON(parsing: JSONWriter.bytes(capacity: 256) { save(to: &$0) }, maximumDepth: 512)) ?? .null
    }

    fileprivate func save(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("id", id)
            writer.member("number", number)
            writer.member("coordinator", coordinator)
            switch kind {
            case .effect(let effect, let since):
                writer.member("effect", effect)
                writer.member("since", since)
            case .timer(let signal, let due, let idle):
                writer.member("signal", signal)
                writer.member("due", due)
                writer.member("idle", ifAny: idle)
            case .cleanUp(let cleanUp):
                writer.object("cleanUp") { writer in
                    writer.member("name", cleanUp.name)
                    writer.member("version", cleanUp.version)
                    writer.member("reason", cleanUp.reason.rawValue)
                    writer.member("state", cleanUp.state)
                }
                writer.member("since", cleanUp.since)
            }
        }
    }
}

extension AlertButton {
    fileprivate func save(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("id", id)
            writer.member("title", title)
            writer.member("role", ifAny: role?.rawValue)
            writer.member("leaves", ifAny: leaves ? true : nil)
            guard let event else { return }
            writer.object("event") { writer in
                writer.member("name", event.name)
                writer.member("payload", ifAny: event.payload)
            }
        }
    }
}

/// The coordinators, screens and tabs of a base state, which was saved whole. A later state can be saved against it: it
/// refers to the parts that both contain by name instead of writing them again, to a coordinator by its id, to a screen
/// by its key, to a tab by its id among the tabs of the screen of the same key. Shared values and the client's
/// description of itself are left out if they are unchanged.
package struct SharedParts: Sendable {
    /// Retained, so that no new object can get the `ObjectIdentifier` of one of them.
    private let parts: [any AnyObject & Sendable]
    /// Usually about a dozen: a linear search is faster than hashing.
    private let identities: [ObjectIdentifier]
    private let createdCount: Int
    fileprivate let client: ClientInfo
    fileprivate let shared: SharedValues

    package init(of state: NavigationState) {
        var parts: [any AnyObject & Sendable] = state.coordinators
        state.forEachScreen { screen in
            parts.append(screen)
            if let tabs = screen.tabs { parts += tabs.items }
        }
        self.parts = parts
        self.identities = parts.map { ObjectIdentifier($0) }
        self.createdCount = state.createdCount
        self.client = state.client
        self.shared = state.shared
    }

    fileprivate func has(_ part: some AnyObject) -> Bool { identities.contains(ObjectIdentifier(part)) }

    /// Whether most of a later state is likely to consist of these parts: since the base state, no more has been
    /// created than there are parts.
    package func coverMost(of state: NavigationState) -> Bool {
        state.createdCount - createdCount <= identities.count
    }
}

extension SharedParts? {
    func has(_ part: some AnyObject) -> Bool { self?.has(part) ?? false }

    /// The client of the base state; without a base, a client that has said nothing.
    var client: ClientInfo { self?.client ?? .none }
    var shared: SharedValues { self?.shared ?? .none }
}

extension NavigationState {
    /// The number of screens, flows, alerts, coordinators and stacks that the session has ever created.
    fileprivate var createdCount: Int { lastKey + lastID }

    /// A state that was saved against a base state, in the form in which it would have been saved whole.
    ///
    /// - Parameter base: the base state, saved whole.
    /// - Throws: an error with the name of a part that the base state lacks.
    package static func completed(_ saved: JSON, from base: JSON) throws(JSONDecodingError) -> JSON {
        try SavedParts(of: base).completed(saved)
    }

    /// A screen of a state that was saved whole, as clients read it; `nil` if there is none of that key.
    package static func screen(_ key: String, inSaved state: JSON) -> JSON? {
        let parts = SavedParts(of: state)
        guard var screen = parts.screens[key]?.object,
            let coordinator = screen["coordinator"]?.integer.flatMap({ parts.coordinators[$0] })
        else { return nil }
        for name in ["tabs"] + PlacedScreen.membersForEngine { screen[name] = nil }
        screen["coordinator"] = coordinator["name"]
        return .object(screen)
    }
}

/// The parts of a saved state, by their names.
private struct SavedParts {
    private(set) var coordinators: [Int: JSON] = [:]
    private(set) var screens: [String: JSON] = [:]
    /// The whole state, for the members that a later state leaves out if they are unchanged.
    private let base: JSON
    /// The last members of a state, which it leaves out if they say nothing.
    private static let own = ["role", "inheritedID"]

    init(of state: JSON) {
        base = state
        for coordinator in state["coordinators"]?.array ?? [] {
            if let id = coordinator["id"]?.integer { coordinators[id] = coordinator }
        }
        collect(state["stack"])
        for flow in state["presented"]?.array ?? [] { collect(flow["stack"]) }
    }

    /// Collects the screens of a saved stack, and those in their tabs.
    private mutating func collect(_ stack: JSON?) {
        for screen in stack?["screens"]?.array ?? [] {
            if let key = screen["key"]?.string { screens[key] = screen }
            for tab in screen["tabs"]?["items"]?.array ?? [] { collect(tab["stack"]) }
        }
    }

    func completed(_ state: JSON) throws(JSONDecodingError) -> JSON {
        var state = try JSONObject(json: state)
        try state.replaceElements(of: "coordinators") { (coordinator) throws(JSONDecodingError) in
            guard let id = coordinator.integer else { return coordinator }
            return try SavedParts.found(coordinators[id], id)
        }
        try completeStack(of: &state)
        try state.replaceElements(of: "presented") { (flow) throws(JSONDecodingError) in
            var flow = try JSONObject(json: flow)
            try completeStack(of: &flow)
            return .object(flow)
        }
        let last = ["shared", "client"].map { ($0, state[$0] ?? base[$0]) } + SavedParts.own.map { ($0, state[$0]) }
        for (name, value) in last {
            // Removed first, so that they come last and in this order, as in a state that is saved whole.
            state[name] = nil
            if value != [:] { state[name] = value }
        }
        return .object(state)
    }

    private func completeStack(of owner: inout JSONObject) throws(JSONDecodingError) {
        guard let saved = owner["stack"] else { return }
        var stack = try JSONObject(json: saved)
        try stack.replaceElements(of: "screens") { (screen) throws(JSONDecodingError) in
            if let key = screen.string { return try SavedParts.found(screens[key], key) }
            var screen = try JSONObject(json: screen)
            try completeTabs(of: &screen)
            return .object(screen)
        }
        owner["stack"] = .object(stack)
    }

    private func completeTabs(of screen: inout JSONObject) throws(JSONDecodingError) {
        guard let saved = screen["tabs"] else { return }
        var tabs = try JSONObject(json: saved)
        let before = screen["key"]?.string.flatMap { screens[$0] }?["tabs"]?["items"]?.array ?? []
        try tabs.replaceElements(of: "items") { (tab) throws(JSONDecodingError) in
            if let id = tab.string { return try SavedParts.found(before.first { $0["id"]?.string == id }, id) }
            var tab = try JSONObject(json: tab)
            try completeStack(of: &tab)
            return .object(tab)
        }
        screen["tabs"] = .object(tabs)
    }

    private static func found(_ part: JSON?, _ name: some Any) throws(JSONDecodingError) -> JSON {
        guard let part else { throw JSONDecodingError(path: [], reason: "names \(name), which the base lacks") }
        return part
    }
}

extension JSONObject {
    /// Replaces each element of an array member, if there is such a member.
    fileprivate mutating func replaceElements(
        of name: String, _ replacement: (JSON) throws(JSONDecodingError) -> JSON
    ) throws(JSONDecodingError) {
        guard let elements = self[name]?.array else { return }
        var replaced: [JSON] = []
        replaced.reserveCapacity(elements.count)
        for element in elements { replaced.append(try replacement(element)) }
        self[name] = .array(replaced)
    }
}
