package import Coordinators
import JSONCoding

/// Does what a client may do instead of comparing two states: performs a transition's operations on what it drew
/// before, and must then have drawn the state after. It knows what is sent, and nothing of the engine.
package enum ReplayCheck {
    /// - Returns: what is wrong; `nil` if nothing is.
    package static func fault(_ before: NavigationState, _ result: TransitionResult) -> String? {
        let after = Drawing(of: result.state)
        var drawing = Drawing(of: before)
        for operation in result.transition.operations {
            guard let json = try? JSON(parsing: JSONWriter.bytes(capacity: 64) { operation.write(to: &$0) }),
                drawing.perform(json, toward: after)
            else {
                return "\(operation) cannot be performed on \(drawing.stacks), of \(result.transition.operations)"
            }
        }
        return drawing == after
            ? nil : "the operations \(result.transition.operations) lead from \(before.outline) to \(drawing.stacks)"
    }
}

/// What a client has drawn.
private struct Drawing: Equatable {
    /// The screens' keys, bottom first, by the stacks' names.
    var stacks: [String: [String]] = [:]
    /// The screens as they were sent, without the stacks in their tabs, by their keys.
    private var screens: [String: JSON] = [:]
    /// The selected tabs' ids, by the keys of the screens.
    private var selected: [String: String] = [:]
    /// The flows' keys, and how they are presented.
    private var flows: [String] = []
    private var alert: String?

    init(of state: NavigationState) {
        draw(JSONWriter.bytes(capacity: 512) { state.stack.write(to: &$0) }, "main")
        for flow in state.presented {
            flows.append(flow.key)
            draw(JSONWriter.bytes(capacity: 512) { flow.stack.write(to: &$0) }, flow.key)
        }
        alert = state.alert?.key
    }

    private mutating func draw(_ text: [UInt8], _ name: String) {
        draw((try? JSON(parsing: text, maximumDepth: 512))?.array ?? [], name)
    }

    private mutating func draw(_ stack: [JSON], _ name: String) {
        stacks[name] = stack.map { $0["key"]?.string ?? "" }
        for screen in stack { draw(screen) }
    }

    private mutating func draw(_ screen: JSON) {
        guard let key = screen["key"]?.string, var content = screen.object else { return }
        if let tabs = screen["tabs"] {
            selected[key] = tabs["selected"]?.string
            var bar: [JSON] = []
            for tab in tabs["items"]?.array ?? [] {
                draw(tab["stack"]?.array ?? [], Drawing.name(of: tab, key))
                var tab = tab.object ?? [:]
                tab["stack"] = nil
                bar.append(.object(tab))
            }
            content["tabs"] = .array(bar)
        }
        screens[key] = .object(content)
    }

    private static func name(of tab: JSON, _ key: String) -> String { "\(key)/\(tab["id"]?.string ?? "")" }

    /// - Returns: whether that was possible.
    mutating func perform(_ operation: JSON, toward after: Drawing) -> Bool {
        guard let key = operation["key"]?.string else { return false }
        let stack = operation["stack"]?.string ?? ""
        switch operation["op"]?.string {
        case "push":
            stacks[stack]?.append(key)
            return stacks[stack] != nil && show(key, of: after)
        case "pop":
            guard let index = stacks[stack]?.firstIndex(of: key) else { return false }
            stacks[stack]?.remove(at: index)
            remove(key)
            return true
        case "replace":
            guard let replaced = operation["replaced"]?.string, let index = stacks[stack]?.firstIndex(of: replaced)
            else { return false }
            stacks[stack]?[index] = key
            remove(replaced)
            return show(key, of: after)
        case "update":
            guard screens[key] != nil, after.screens[key] != nil else { return false }
            screens[key] = after.screens[key]
            guard removeEmptyTabs(of: key) else { return false }
            for tab in after.screens[key]?["tabs"]?.array ?? [] where stacks[Drawing.name(of: tab, key)] == nil {
                stacks[Drawing.name(of: tab, key)] = []
            }
            return true
        case "present":
            flows.append(key)
            stacks[key] = []
            return true
        case "dismiss":
            guard flows.contains(key) else { return false }
            flows.removeAll { $0 == key }
            removeStack(key)
            return true
        case "selectTab":
            guard selected[key] != nil else { return false }
            selected[key] = operation["tab"]?.string
            return true
        case "alert":
            alert = key
            return true
        case "dismissAlert":
            guard alert == key else { return false }
            alert = nil
            return true
        default: return false
        }
    }

    private mutating func show(_ key: String, of after: Drawing) -> Bool {
        guard let screen = after.screens[key] else { return false }
        screens[key] = screen
        selected[key] = after.selected[key]
        for tab in screen["tabs"]?.array ?? [] { stacks[Drawing.name(of: tab, key)] = [] }
        return true
    }

    /// Removes the tabs that the screen no longer has.
    ///
    /// - Returns: whether all of them were empty.
    private mutating func removeEmptyTabs(of key: String) -> Bool {
        let kept = (screens[key]?["tabs"]?.array ?? []).map { Drawing.name(of: $0, key) }
        let gone = stacks.filter { name, _ in name.hasPrefix("\(key)/") && !kept.contains(name) }
        for name in gone.keys { stacks[name] = nil }
        return gone.values.allSatisfy(\.isEmpty)
    }

    private mutating func remove(_ key: String) {
        for tab in screens[key]?["tabs"]?.array ?? [] { removeStack(Drawing.name(of: tab, key)) }
        screens[key] = nil
        selected[key] = nil
    }

    private mutating func removeStack(_ name: String) {
        for key in stacks.removeValue(forKey: name) ?? [] { remove(key) }
    }
}

extension NavigationState {
    fileprivate var outline: [String] { screens.map { "\($0.key) \($0.screen.name)" } }
}
