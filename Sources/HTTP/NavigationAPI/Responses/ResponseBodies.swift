internal import Coordinators
internal import JSONCoding
internal import MicroHTTP
internal import Sessions

/// The living coordinators: `{"count": 2, "tree": {"name": "app", "children": […]}}`.
struct CoordinatorsBody: JSONWritable {
    private let coordinators: [LivingCoordinator]
    // By the id of the parent or the owner.
    private let children: [Int?: [LivingCoordinator]]
    private let screens: [Int: [PlacedScreen]]
    private let pending: [Int: [PendingWork]]

    init(_ navigation: NavigationState) {
        coordinators = navigation.coordinators
        children = Dictionary(grouping: coordinators, by: \.parent)
        screens = Dictionary(grouping: navigation.screens, by: \.coordinator)
        pending = Dictionary(grouping: navigation.pending, by: \.coordinator)
    }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("count", coordinators.count)
            if let root = coordinators.first {
                writer.name("tree")
                write(root, to: &writer)
            }
        }
    }

    private func write(_ coordinator: LivingCoordinator, to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("name", coordinator.name)
            writer.member("screens", ifAny: screens[coordinator.id]?.map(\.key))
            if let pending = pending[coordinator.id] {
                writer.member("pending", objects: pending) { $0.work($1) }
            }
            if let children = children[coordinator.id] {
                writer.name("children")
                writer.array { writer in for child in children { write(child, to: &writer) } }
            }
        }
    }
}

extension JSONWriter {
    /// An effect, `{"id", "effect", "since"}`, or a timer, `{"id", "signal", "due", "whenIdle"?}`.
    fileprivate mutating func work(_ work: PendingWork) {
        member("id", work.id)
        member("effect", ifAny: work.effect)
        member("since", ifAny: work.since.map(Timestamp.text(of:)))
        member("signal", ifAny: work.signal)
        member("due", ifAny: work.due.map(Timestamp.text(of:)))
        member("whenIdle", ifAny: work.waitsForIdleness ? true : nil)
    }
}

/// The hosted apps.
struct AppsBody: JSONWritable {
    let apps: [App]

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("defaultApp", ifAny: apps.first?.name)
            writer.member("apps", objects: apps) { writer, app in writer.member("name", app.name) }
        }
    }
}

/// A pairing code, for the user to type on the other device.
struct PairingBody: JSONWritable {
    let pairing: OpenPairing

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("code", pairing.code.text)
            writer.member("expiresAt", Timestamp.text(of: pairing.expiresAt))
        }
    }
}

/// The part of a history that a request asks for.
struct HistoryPage {
    /// How many versions at most.
    let limit: Int
    /// Only versions older than this one.
    let before: Int?

    static let largestLimit = 100
    /// How many bytes are read for a page, and how many are written before its last version at most.
    static let byteLimit = 128 * 1024

    init(_ request: HTTPRequest) throws(Problem) {
        limit = try request.integer("limit", in: 1...HistoryPage.largestLimit) ?? 20
        before = try request.integer("before", in: 1 ... .max)
    }

    /// The newest version to list; `nil` for the current one.
    var newest: Int? { before.map { $0 - 1 } }
}

/// Versions of a session, newest first, and the path of the next page.
struct HistoryBody: JSONWritable {
    /// How many bytes of a screen's parameters the list contains; larger ones are only in the version itself.
    static let paramsLimit = 2048

    let entries: ArraySlice<HistoryEntry>
    /// Whether there are older versions than these.
    let continues: Bool
    let page: HistoryPage
    let session: SessionID
    /// What the session's path begins with.
    let basePath: String

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            var written = 0
            writer.name("history")
            writer.array { writer in
                for entry in entries where written == 0 || writer.count < HistoryPage.byteLimit {
                    write(entry, to: &writer)
                    written += 1
                }
            }
            guard written < entries.count || continues, let last = entries.prefix(written).last else { return }
            let path = "\(basePath)/v1/sessions/\(session.text)/history"
            writer.member("next", "\(path)?limit=\(page.limit)&before=\(last.version)")
        }
    }

    private func write(_ entry: HistoryEntry, to writer: inout JSONWriter) {
        let visible = entry.note.visible.withoutParams(over: HistoryBody.paramsLimit)
        writer.object { writer in
            writer.member("version", entry.version)
            writer.member("time", Timestamp.text(of: entry.time))
            writer.member("event", ifAny: entry.note.event)
            writer.member("cause", ifAny: entry.note.cause)
            writer.member("visible", visible ?? entry.note.visible)
            writer.member("paramsOmitted", ifAny: visible.map { _ in true })
            writer.member("operations", entry.note.operations)
            writer.member("finished", entry.note.finished)
            writer.member("dismissed", entry.note.dismissed)
        }
    }
}

extension JSON {
    /// The screen without its parameters; `nil` if these have at most `limit` bytes.
    fileprivate func withoutParams(over limit: Int) -> JSON? {
        guard var screen = object, let params = screen["params"] else { return nil }
        var writer = JSONWriter()
        params.write(to: &writer)
        guard writer.count > limit else { return nil }
        screen["params"] = nil
        return .object(screen)
    }
}
