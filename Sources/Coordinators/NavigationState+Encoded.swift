internal import JSONCoding

// How a state is saved: JSON with stable names, that a person can read. Written by hand, for it is done for every
// event; `App+Restore.swift` reads it. The round trip is tested for every state of every app.

extension NavigationState {
    /// Bytes that a saved state may take.
    public static let sizeLimit = 64 * 1024

    /// The state as JSON text. Equal states give equal bytes.
    ///
    /// - Throws: `stateLimit` past `sizeLimit`.
    public func encoded() throws(NavigationError) -> [UInt8] {
        var writer = JSONWriter(capacity: 1000)
        writer.object { writer in
            writer.member("lastKey", lastKey)
            writer.member("lastID", lastID)
            writer.member("defaults", defaults.values)
            writer.name("coordinators")
            writer.array { writer in for living in coordinators { writer.encoded(living.encoded) } }
            writer.name("stack")
            stack.save(to: &writer)
            if let alert {
                writer.name("alert")
                alert.save(to: &writer)
            }
        }
        guard writer.count <= NavigationState.sizeLimit else { throw .stateLimit }
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
            writer.encoded(savedMembers)
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
                        writer.encoded(item.encodedMembers)
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
