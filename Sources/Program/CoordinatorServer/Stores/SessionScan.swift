internal import Glibc
internal import Sessions
internal import Synchronization

// Reading many sessions of a store, and reporting on standard error what cannot be read.
extension StoreReader {
    /// How many sessions are read together: on one thread, and on each of several.
    private static var batchSize: (alone: Int, parallel: Int) { (64, 512) }

    func lastVersions(of ids: ArraySlice<SessionID>) throws -> [Found<LoadedSession>] { try loaded(ids, .lastVersion) }

    /// Does work for each session. Damaged sessions are reported and skipped.
    ///
    /// - Parameters:
    ///   - ids: the sessions' ids; `nil` for all sessions.
    ///   - read: reads what the work needs of several sessions.
    ///   - damaged: called with each skipped session.
    ///   - progress: receives how many sessions are done, and about how many there are.
    ///   - work: receives `nil` for a session that does not exist.
    /// - Returns: whether no session was skipped, and none may be missing.
    func forEach<Value>(
        _ ids: [SessionID]?, _ read: (ArraySlice<SessionID>) throws -> [Found<Value>],
        damaged: (SessionID) -> Void = { _ in }, progress: (Int, Int) -> Void = { _, _ in },
        _ work: (SessionID, Value?) throws -> Void
    ) async throws -> Bool {
        var (done, hasDamage) = (0, false)
        let isWhole = try await forEachPage(of: ids) { page in
            for batch in page.sessions.batches(of: Self.batchSize.alone) {
                for (id, value) in try read(batch) {
                    switch value {
                    case .success(let value): try work(id, value)
                    case .failure(let damage):
                        damage.report()
                        damaged(id)
                        hasDamage = true
                    }
                }
                done += batch.count
                progress(done, page.total)
            }
        }
        return isWhole && !hasDamage
    }

    /// Reads all sessions on several threads. Damaged sessions are reported.
    ///
    /// - Parameters:
    ///   - depth: what has to be readable of a session.
    ///   - work: what is done, for `Progress`.
    ///   - another: makes another reader of the store; called for each thread.
    ///   - convert: called for each session, on several threads.
    ///   - each: called with the results that are not `nil`, in order.
    /// - Returns: whether no session may be missing.
    func scan<Value: Sendable>(
        _ depth: ReadingDepth, _ work: String, another: () throws -> sending any StoreReader,
        _ convert: @escaping @Sendable (SessionID, Result<LoadedSession?, SessionDamage>) -> Value?,
        each: (Value) -> Void
    ) async throws -> Bool {
        let threads = min(max(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 1), 16)
        let workers = try (0..<threads).map { _ in Worker(try another()) }
        var progress = Progress(work)
        var done = 0
        let isWhole = try await forEachPage { page in
            for share in page.sessions.batches(of: threads * Self.batchSize.parallel) {
                let batches = share.batches(of: Self.batchSize.parallel)
                try await withThrowingTaskGroup(of: (Int, [(Value, SessionDamage?)]).self) { group in
                    for (index, batch) in batches.enumerated() {
                        let worker = workers[index]
                        group.addTask {
                            let found = try worker.reader.withLock { try $0.loaded(batch, depth) }
                            return (
                                index, found.compactMap { id, found in convert(id, found).map { ($0, found.damage) } }
                            )
                        }
                    }
                    var results = batches.map { _ in [(Value, SessionDamage?)]() }
                    for try await (index, values) in group { results[index] = values }
                    progress.hide()
                    for (value, damage) in results.joined() {
                        damage?.report()
                        each(value)
                    }
                }
                done += share.count
                progress.show(done, of: page.total)
            }
        }
        progress.hide()
        return isWhole
    }

    /// Calls `body` with all sessions, page by page, or with one page of the named ones. Reports if some may be
    /// missing.
    ///
    /// - Returns: whether none is missing.
    private func forEachPage(
        of ids: [SessionID]? = nil, _ body: (SessionPage) async throws -> Void
    ) async throws -> Bool {
        var page: SessionPage = try ids.map { ($0, $0.count) } ?? page(after: nil)
        let damage = damage
        if let damage { StandardError.print("Error: \(damage): what was acknowledged after it is not seen here") }
        while let last = page.sessions.last {
            try await body(page)
            if ids != nil { break }
            page = try self.page(after: last)
        }
        return damage == nil
    }
}

/// A reader for one thread at a time.
private final class Worker: Sendable {
    let reader: Mutex<any StoreReader>

    init(_ reader: sending any StoreReader) {
        self.reader = Mutex(reader)
    }
}

extension RandomAccessCollection where Index == Int {
    fileprivate func batches(of size: Int) -> [SubSequence] {
        stride(from: startIndex, to: endIndex, by: size).map { self[$0...].prefix(size) }
    }
}

extension SessionDamage {
    fileprivate func report() { StandardError.print("Error: \(self)") }
}

extension Result where Failure == SessionDamage {
    var damage: SessionDamage? {
        if case .failure(let damage) = self { damage } else { nil }
    }
}
