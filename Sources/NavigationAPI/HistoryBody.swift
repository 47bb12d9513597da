internal import JSONCoding
internal import MicroHTTP
internal import Sessions

/// Which part of a history is asked for.
struct HistoryPage {
    /// How many versions at most.
    private(set) var limit = 20
    /// The versions wanted are older than this one.
    private(set) var before: Int?

    static let largestLimit = 100

    init(_ query: [HTTPTarget.QueryItem]) throws(Problem) {
        for item in query {
            guard let number = Int(item.value), number > 0 else { throw .unknownQuery }
            switch item.name {
            case "limit" where number <= HistoryPage.largestLimit: limit = number
            case "before": before = number
            default: throw .unknownQuery
            }
        }
        guard Set(query.map(\.name)).count == query.count else { throw .unknownQuery }
    }

    /// The newest version that is wanted; `nil` for the current one.
    var newest: Int? { before.map { $0 - 1 } }
}

/// Versions of a session, newest first, and the path of the next page.
struct HistoryBody: JSONWritable {
    private let entries: ArraySlice<HistoryEntry>
    private let next: String?

    /// - Parameter entries: one more than the page has, where there is another page.
    init(_ entries: [HistoryEntry], page: HistoryPage, of id: SessionID) {
        self.entries = entries.prefix(page.limit)
        self.next =
            entries.count > page.limit
            ? "/v1/sessions/\(id.text)/history?limit=\(page.limit)&before=\(entries[page.limit - 1].version)" : nil
    }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.name("history")
            writer.array { writer in
                for entry in entries {
                    writer.object { writer in
                        writer.member("version", entry.version)
                        writer.member("time", Timestamp.text(of: entry.time))
                        writer.member("event", ifAny: entry.note.event)
                        writer.member("visible", entry.note.visible)
                        writer.member("operations", entry.note.operations)
                        writer.member("finished", entry.note.finished)
                    }
                }
            }
            writer.member("next", ifAny: next)
        }
    }
}
