package import JSONCoding

// How a state is saved: JSON with stable names, which a person can read. The code is written by hand, because it runs
// for every event; `App+Restore.swift` reads the result. The round trip is tested for every state of every app.

extension NavigationState {
    /// The state as JSON text. Equal states give equal bytes.
    public var encoded: [UInt8] {
        var writer = JSONWriter(capacity: 1000)
        save(to: &writer)
        return writer.bytes
    }

    /// Writes the state as a JSON value.
    ///
    /// - Parameter base: the parts of the base state, which are named instead of written; `nil` to save the state
    ///   whole.
    package func save(to writer: inout JSONWriter, against base: SharedParts? = nil) {
        writer.object { writer in
            writer.member("version", coordinators.first?.type.version ?? 0)
            writer.member("lastKey", lastKey)
            writer.member("lastID", lastID)
            writer.name("defaults")
            writer.encoded(defaults.encoded)
            writer.name("coordinators")
            writer.array { writer in
                for living in coordinators {
                    if base.has(living) { writer.value(living.id) } else { writer.encoded(living.encoded) }
                }
            }
            writer.name("stack")
            stack.save(to: &writer, against: base)
            if !presented.isEmpty {
                writer.name("presented")
                writer.array { writer in for flow in presented { flow.save(to: &writer, against: base) } }
            }
            if let alert {
                writer.name("alert")
                alert.save(to: &writer)
            }
            if let pendingLink {
                writer.name("pendingLink")
                writer.object { writer in
                    writer.member("path", pendingLink.path)
                    writer.member("coordinator", pendingLink.coordinator)
                }
            }
            if shared != base.shared {
                writer.name("shared")
                writer.encoded(shared.encoded)
            }
            if client != base.client { writer.member("client", client.values) }
        }
    }

    /// The number of bytes that the state's content takes when it is saved.
    ///
    /// - Parameter parts: the parts of the base state that it is saved against, which are not counted.
    package func savedSize(beside parts: SharedParts? = nil) -> Int {
        var size = defaults.encoded.count
        for coordinator in coordinators where !parts.has(coordinator) { size += coordinator.encodedSize }
        size += stack.savedSize(beside: parts)
        for flow in presented { size += flow.stack.savedSize(beside: parts) }
        if shared != parts.shared { size += shared.encoded.count }
        return size + alertSize + (client == parts.client ? 0 : clientSize)
    }

    /// The size that `App.sizeLimit` bounds, in bytes.
    func size(with screens: [PlacedScreen]) -> Int {
        var size = defaults.encoded.count + shared.encoded.count
        for coordinator in coordinators { size += coordinator.encodedSize }
        for screen in screens { size += screen.savedSize }
        return size + alertSize + clientSize
    }

    private var clientSize: Int {
        client.values.isEmpty ? 0 : JSONWriter.bytes(capacity: 256) { client.values.write(to: &$0) }.count
    }

    /// The saved size of the alert, with the events of its buttons, in bytes.
    private var alertSize: Int {
        guard let alert else { return 0 }
        var writer = JSONWriter()
        alert.save(to: &writer)
        return writer.count
    }
}

extension ScreenStack {
    /// The same for a stack. Everything within a shared part is shared, too, and is not looked at.
    fileprivate func savedSize(beside parts: SharedParts?) -> Int {
        var size = 0
        for screen in screens where !parts.has(screen) {
            size += screen.savedSize
            guard let tabs = screen.tabs else { continue }
            for tab in tabs.items where !parts.has(tab) { size += tab.stack.savedSize(beside: parts) }
        }
        return size
    }
}

// Values are equal if they are saved alike. Parts that two states share need no comparison.

extension NavigationState: Equatable {
    public static func == (left: NavigationState, right: NavigationState) -> Bool {
        left.lastKey == right.lastKey && left.lastID == right.lastID && left.alert == right.alert
            && left.stack == right.stack && left.presented == right.presented
            && left.coordinators == right.coordinators && left.defaults == right.defaults && left.shared == right.shared
            && left.pendingLink == right.pendingLink && left.client == right.client
    }
}

extension LivingCoordinator: Equatable {
    public static func == (left: LivingCoordinator, right: LivingCoordinator) -> Bool {
        left === right || left.encoded == right.encoded
    }
}

extension PlacedScreen: Equatable {
    public static func == (left: PlacedScreen, right: PlacedScreen) -> Bool {
        left === right || (left.savedMembers == right.savedMembers && left.tabs == right.tabs)
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
            writer.name("screens")
            writer.array { writer in
                for screen in screens {
                    if base.has(screen) { writer.value(screen.key) } else { screen.save(to: &writer, against: base) }
                }
            }
        }
    }
}

extension PlacedScreen {
    fileprivate func save(to writer: inout JSONWriter, against base: SharedParts?) {
        writer.object { writer in
            writer.encoded(savedMembers)
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
            writer.name("items")
            writer.array { writer in
                for tab in items {
                    if base.has(tab) { writer.value(tab.id) } else { tab.save(to: &writer, against: base) }
                }
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
            writer.name("buttons")
            writer.array { writer in for button in alert.buttons { button.save(to: &writer) } }
            guard let heldUp else { return }
            writer.name("heldUp")
            writer.object { writer in
                writer.member("type", heldUp.type)
                writer.member("payload", ifAny: heldUp.payload)
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
            writer.name("event")
            writer.object { writer in
                writer.member("name", event.name)
                writer.member("payload", ifAny: event.payload)
            }
        }
    }
}
