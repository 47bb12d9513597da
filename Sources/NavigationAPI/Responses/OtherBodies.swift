internal import Coordinators
internal import JSONCoding

/// The living coordinators: `{"count": 2, "tree": {"name": "app", "children": […]}}`.
struct CoordinatorsBody: JSONWritable {
    let navigation: NavigationState

    init(_ navigation: NavigationState) {
        self.navigation = navigation
    }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("count", navigation.coordinators.count)
            if let root = navigation.coordinators.first {
                writer.name("tree")
                write(root, to: &writer)
            }
        }
    }

    private func write(_ coordinator: LivingCoordinator, to writer: inout JSONWriter) {
        let screens = navigation.screens.filter { $0.coordinator == coordinator.id }.map(\.key)
        let children = navigation.children(of: coordinator.id)
        writer.object { writer in
            writer.member("name", coordinator.name)
            writer.member("screens", ifAny: screens.isEmpty ? nil : screens)
            if !children.isEmpty {
                writer.name("children")
                writer.array { writer in for child in children { write(child, to: &writer) } }
            }
        }
    }
}

/// The hosted apps.
struct AppsBody: JSONWritable {
    let apps: [App]

    init(_ apps: [App]) {
        self.apps = apps
    }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("defaultApp", ifAny: apps.first?.name)
            writer.name("apps")
            writer.array { writer in
                for app in apps { writer.object { $0.member("name", app.name) } }
            }
        }
    }
}

/// An app's coordinators, the events that can be posted to each, the built-in ones, the links and their origins.
struct AppBody: JSONWritable {
    let app: App

    init(_ app: App) {
        self.app = app
    }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("name", app.name)
            writer.member("version", app.version)
            writer.name("coordinators")
            writer.array { writer in
                for coordinator in app.coordinators {
                    writer.object { writer in
                        writer.member("name", coordinator.name)
                        writer.member("events", coordinator.events.map(EventBody.init))
                    }
                }
            }
            writer.member("builtInEvents", BuiltInEvent.allCases.map(EventBody.init))
            writer.member("links", app.links.map(\.text))
            writer.member("origins", ifAny: app.origins.isEmpty ? nil : app.origins)
        }
    }
}

/// An event: its type, the title of its button, the JSON Schema of its payload, an example that can be posted.
private struct EventBody: JSONWritable {
    let type: String
    let title: String
    let payload: JSON?
    let schema: JSON?

    init(_ shape: EventShape) {
        (type, title, payload, schema) = (shape.name, shape.title, shape.payload, shape.schema)
    }

    init(_ event: BuiltInEvent) {
        (type, title, payload, schema) = (event.rawValue, event.title, event.payload, event.schema)
    }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("type", type)
            writer.member("title", title)
            writer.member("schema", ifAny: schema)
            writer.name("example")
            writer.object { writer in
                writer.member("type", type)
                writer.member("payload", ifAny: payload)
            }
        }
    }
}

struct HealthBody: JSONWritable {
    let status: String
    var store: String?
    var remarks: [String] = []

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("status", status)
            writer.member("store", ifAny: store)
            if !remarks.isEmpty { writer.member("remarks", remarks) }
        }
    }
}
