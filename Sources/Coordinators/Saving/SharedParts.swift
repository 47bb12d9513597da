package import JSONCoding

/// The coordinators, screens and tabs of a base state, which was saved whole. A later state can be saved against it:
/// the parts that both contain are not written again but named, a coordinator by its id, a screen by its key, a tab by
/// its id among the tabs of the screen of the same key. What the coordinators share, and what the client says about itself,
/// is left out if it is the same.
package struct SharedParts: Sendable {
    /// Retained, so that no other object can get the identity of one of them.
    private let parts: [any AnyObject & Sendable]
    /// Usually about a dozen: a linear search is faster than hashing.
    private let identities: [ObjectIdentifier]
    private let numbersGiven: Int
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
        self.numbersGiven = state.numbersGiven
        self.client = state.client
        self.shared = state.shared
    }

    fileprivate func has(_ part: some AnyObject) -> Bool { identities.contains(ObjectIdentifier(part)) }

    /// Whether no more has been created since than there are parts: then most of the state is likely to be shared.
    package func coverMost(of state: NavigationState) -> Bool {
        state.numbersGiven - numbersGiven <= identities.count
    }
}

extension SharedParts? {
    func has(_ part: some AnyObject) -> Bool { self?.has(part) ?? false }

    /// Without a base, as if the client had said nothing there.
    var client: ClientInfo { self?.client ?? .none }
    var shared: SharedValues { self?.shared ?? .none }
}

extension NavigationState {
    /// The number of screens, flows, alerts, coordinators and stacks that there have ever been.
    fileprivate var numbersGiven: Int { lastKey + lastID }

    /// A state that was saved against a base state, as it would have been saved whole.
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
        for name in ["tabs", "events", "eventRoles", "linkPattern", "back"] { screen[name] = nil }
        screen["coordinator"] = coordinator["name"]
        return .object(screen)
    }
}

/// The parts of a saved state, by their names.
private struct SavedParts {
    private(set) var coordinators: [Int: JSON] = [:]
    private(set) var screens: [String: JSON] = [:]
    /// What is left out of a later state if it is the same there.
    private let unchanged: JSON

    init(of state: JSON) {
        unchanged = state
        for coordinator in state["coordinators"]?.array ?? [] {
            if let id = coordinator["id"]?.integer { coordinators[id] = coordinator }
        }
        collect(state["stack"])
        for flow in state["presented"]?.array ?? [] { collect(flow["stack"]) }
    }

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
        for name in ["shared", "client"] {
            let value = state[name] ?? unchanged[name]
            // Removed first, so that it comes last, as in a state that is saved whole.
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
