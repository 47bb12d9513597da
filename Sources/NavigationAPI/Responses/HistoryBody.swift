internal import JSONCoding
internal import MicroHTTP
internal import Sessions

/// The part of a history that a request asks for.
struct HistoryPage {
    /// How many versions at most.
    let limit: Int
    /// Only versions older than this one.
    let before: Int?

    static let largestLimit = 100
    /// Bytes that are read for a page. At most as many are written before the page's last version.
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
    /// Bytes of a screen's parameters that the list contains; only the version itself contains larger ones.
    static let paramsLimit = 2048

    private let entries: ArraySlice<HistoryEntry>
    private let continues: Bool
    private let page: HistoryPage
    private let id: SessionID
    private let basePath: String

    /// - Parameter continues: whether there are older versions than these.
    init(
        _ entries: ArraySlice<HistoryEntry>, _ continues: Bool, page: HistoryPage, of id: SessionID,
        below basePath: String
    ) {
        self.entries = entries
        self.continues = continues
        self.page = page
        self.id = id
        self.basePath = basePath
    }

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
            let path = "\(basePath)/v1/sessions/\(id.text)/history"
            writer.member("next", "\(path)?limit=\(page.limit)&before=\(last.version)")
        }
    }

    private func write(_ entry: HistoryEntry, to writer: inout JSONWriter) {
        let visible = entry.note.visible.withoutParams(over: HistoryBody.paramsLimit)
        writer.object { writer in
            writer.member("version", entry.version)
            writer.member("time", Timestamp.text(of: entry.time))
            writer.member("event", ifAny: entry.note.event)
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
