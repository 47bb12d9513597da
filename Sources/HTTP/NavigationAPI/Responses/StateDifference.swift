internal import JSONCoding
internal import MicroHTTP
internal import Sessions

/// Writes a state as its difference from another one that the client has (`StateDifference` in `openapi.yaml`).
///
/// It is made from the JSON of both states, whatever has led from the one to the other. So it is right also for a state
/// that the client has waited for, and nothing else in the server has to know of it:
///
///     {"session": {…}, "visible": {"key": "k5"}, "stack": [{"key": "k3"}, {"key": "k5", "name": "product", …}],
///      "events": […], "transition": {…}, "unchanged": ["presented"]}
struct StateDifference {
    private let base: JSON
    /// The screens of the base, by their keys, each with the stacks in its tabs.
    private var screens: [String: JSON] = [:]

    init(since base: JSON) {
        self.base = base
        add(base["stack"])
        for flow in base["presented"]?.array ?? [] { add(flow["stack"]) }
    }

    private mutating func add(_ stack: JSON?) {
        for screen in stack?.array ?? [] {
            guard let key = screen["key"]?.string else { continue }
            screens[key] = screen
            for tab in screen["tabs"]?["items"]?.array ?? [] { add(tab["stack"]) }
        }
    }

    func json(of state: JSON) -> JSON {
        var difference: JSONObject = [:]
        var unchanged: [JSON] = []
        for (name, value) in (state.object?.members ?? []).map({ ($0.name, $0.value) }) {
            switch name {
            // The base has none of these, or an older one.
            case "session", "token", "pairing", "transition": difference[name] = value
            // It is in one of the stacks, too.
            case "visible": difference[name] = StateDifference.bare(value)
            case _ where base[name] == value: unchanged.append(.string(name))
            case "stack": difference[name] = stack(value)
            case "presented":
                difference[name] = .array((value.array ?? []).map { replacing("stack", of: $0, by: stack) })
            case "controls": difference[name] = .array((value.array ?? []).map(control))
            default: difference[name] = value
            }
        }
        difference["unchanged"] = .array(unchanged)
        return .object(difference)
    }

    /// A stack, in which a screen that is as it was has nothing but its key.
    private func stack(_ stack: JSON) -> JSON {
        .array(
            (stack.array ?? []).map { screen in
                if let key = screen["key"]?.string, screens[key] == screen { return StateDifference.bare(screen) }
                return replacing("tabs", of: screen) { tabs in
                    replacing("items", of: tabs) { items in
                        .array((items.array ?? []).map { replacing("stack", of: $0, by: self.stack) })
                    }
                }
            })
    }

    /// A control that the base has, too, as its place there.
    private func control(_ control: JSON) -> JSON {
        base["controls"]?.array?.firstIndex(of: control).map(JSON.integer) ?? control
    }

    private static func bare(_ screen: JSON) -> JSON { .object(JSONObject([("key", screen["key"] ?? .null)])) }

    /// The object with another value of a member, if it has that member.
    private func replacing(_ name: String, of object: JSON, by change: (JSON) -> JSON) -> JSON {
        guard let value = object[name] else { return object }
        var result = object
        result[name] = change(value)
        return result
    }
}

extension NavigationHandler {
    /// The state that a client has, for `Prefer: return=minimal`.
    ///
    /// - Parameters:
    ///   - tag: the state's entity tag, as the client has it.
    ///   - current: a state of the session that is at hand.
    /// - Returns: `nil` if the tag is not that of a version that is still kept, and that the client may read.
    func base(_ tag: Substring, of session: AuthorizedSession, current: SessionState) async -> SessionState? {
        if tag == current.entityTag { return current }
        guard let version = EntityTag.version(of: tag), version < current.version,
            let past = try? await session.past(version), tag == past.entityTag
        else { return nil }
        return past
    }
}

extension HTTPResponse {
    /// Leaves out of a state what the client has already, if that makes the answer shorter.
    ///
    /// - Parameter base: the state that the client has.
    /// - Returns: whether the body is the difference now.
    mutating func reduce(since base: SessionState, includesControls: Bool) -> Bool {
        guard case .bytes(let whole) = body, let state = try? JSON(parsing: whole),
            let known = try? JSON(parsing: StateBody(base, includesControls: includesControls).bytes)
        else { return false }
        let difference = StateDifference(since: known).json(of: state).bytes
        guard difference.count < whole.count else { return false }
        body = .bytes(difference)
        return true
    }

    /// - Parameter wait: the seconds that the answer was allowed to wait; `nil` if it was not asked to.
    mutating func applied(wait: Int?, isMinimal: Bool) {
        let applied = [wait.map { "wait=\($0)" }, isMinimal ? "return=minimal" : nil].compactMap(\.self)
        if !applied.isEmpty { headers.append("Preference-Applied", applied.joined(separator: ", ")) }
    }
}
