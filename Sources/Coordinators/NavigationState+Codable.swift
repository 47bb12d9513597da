internal import JSONCoding

// How a state is saved: JSON with stable names, that a person can read. Written by hand, for it is done for every
// event; read through `Decodable`, for it is done rarely. The round trip is tested for every state of every app.

extension NavigationState {
    /// Bytes that a saved state may take.
    public static let sizeLimit = 64 * 1024

    /// The state as JSON text. Equal states give equal bytes.
    ///
    /// - Throws: `handlerFailed` where a coordinator's own coding fails, `stateLimit` past `sizeLimit`.
    public func encoded() throws(NavigationError) -> [UInt8] {
        var writer = JSONWriter(capacity: 1024)
        try writer.object { (writer) throws(NavigationError) in
            writer.member("lastKey", lastKey)
            writer.member("lastID", lastID)
            writer.member("defaults", defaults.values)
            writer.name("coordinators")
            try writer.array { (writer) throws(NavigationError) in
                for living in coordinators { try living.save(to: &writer) }
            }
            writer.name("stack")
            stack.save(to: &writer)
            if let alert {
                writer.name("alert")
                alert.save(to: &writer)
            }
        }
        guard writer.bytes.count <= NavigationState.sizeLimit else { throw .stateLimit }
        return writer.bytes
    }
}

extension NavigationState: Equatable {
    /// Two states are equal when they are saved alike.
    public static func == (left: NavigationState, right: NavigationState) -> Bool {
        guard let left = try? left.encoded(), let right = try? right.encoded() else { return false }
        return left == right
    }
}

extension LivingCoordinator {
    fileprivate func save(to writer: inout JSONWriter) throws(NavigationError) {
        let state: JSON
        do {
            state = try JSON(encoding: coordinator)
        } catch {
            throw .handlerFailed(coordinator: name, call: "encode", error: String(describing: Swift.type(of: error)))
        }
        writer.object { writer in
            writer.member("id", id)
            writer.member("parent", ifAny: parent)
            writer.member("home", home)
            writer.member("name", name)
            writer.member("state", state)
        }
    }
}

extension ScreenStack {
    fileprivate func save(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("id", id)
            writer.name("screens")
            writer.array { writer in for screen in screens { screen.save(to: &writer) } }
        }
    }
}

extension PlacedScreen {
    fileprivate func save(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("key", key)
            writer.member("name", screen.name)
            writer.member("title", ifAny: screen.title)
            writer.member("params", ifAny: screen.params.isEmpty ? nil : screen.params)
            writer.member("events", ifAny: screen.events)
            writer.member("coordinator", coordinator)
            if let tabs {
                writer.name("tabs")
                tabs.save(to: &writer)
            }
        }
    }
}

extension PlacedTabs {
    fileprivate func save(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("selection", selection)
            writer.name("items")
            writer.array { writer in
                for item in items {
                    writer.object { writer in
                        writer.member("id", item.id)
                        writer.member("title", ifAny: item.title)
                        writer.name("stack")
                        item.stack.save(to: &writer)
                    }
                }
            }
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
        }
    }
}

extension AlertButton {
    fileprivate func save(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("id", id)
            writer.member("title", title)
            writer.member("role", ifAny: role?.rawValue)
            guard let event else { return }
            writer.name("event")
            writer.object { writer in
                writer.member("name", event.name)
                writer.member("payload", ifAny: event.payload)
            }
        }
    }
}
