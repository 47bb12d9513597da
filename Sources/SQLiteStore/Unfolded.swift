internal import Sessions
internal import Synchronization

/// Where the records are that the tables do not tell of yet.
struct Unfolded {
    /// In the order of the journal, by session.
    private(set) var recent: [SessionID: [Place]] = [:]
    private(set) var recentCount = 0
    /// Of the last row that is in `recent`.
    private(set) var lastSeq = 0
    /// What is being folded: older than `recent`.
    private(set) var folding: [SessionID: [Place]] = [:]

    mutating func append(_ place: Place, of id: SessionID) {
        recent[id, default: []].append(place)
        recentCount += 1
        lastSeq = place.seq
    }

    /// Oldest first.
    func places(of id: SessionID) -> [Place] {
        (folding.isEmpty ? [] : folding[id] ?? []) + (recent[id] ?? [])
    }

    /// Those of which the tables know nothing.
    var newSessions: [SessionID] {
        recent.keys.filter { id in places(of: id).contains(where: \.isFirst) }
    }

    /// The last version; `nil` where only the tables know.
    func version(of id: SessionID) -> Int? {
        if let place = recent[id]?.last(where: { !$0.isAnswer }) { return place.version }
        return folding.isEmpty ? nil : folding[id]?.last { !$0.isAnswer }?.version
    }

    /// From now on everything that is recent is being folded.
    mutating func beginFolding() {
        folding = recent
        recent = [:]
        recentCount = 0
    }

    /// What was being folded is in the tables.
    mutating func endFolding() {
        folding = [:]
    }
}

/// Written by the one who commits, read by all.
final class SharedUnfolded: Sendable {
    private let content: Mutex<Unfolded>

    init(_ content: Unfolded) {
        self.content = Mutex(content)
    }

    func places(of id: SessionID) -> [Place] {
        content.withLock { $0.places(of: id) }
    }

    func withLock<Value, Failure: Error>(
        _ body: (inout Unfolded) throws(Failure) -> sending Value
    ) throws(Failure) -> sending Value {
        try content.withLock { content throws(Failure) in try body(&content) }
    }
}
