internal import Coordinators
internal import Synchronization

// Tells those who watch sessions here what other servers have committed.
extension SessionHost {
    /// How long a change by another server may stay unnoticed.
    private static let interval = Duration.milliseconds(100)
    /// How many sessions are read at the same time.
    private static let readers = 32

    /// Reads the store's changes while anybody watches, until the task is cancelled. Returns at once if no other server
    /// shares the store.
    public func follow() async {
        guard store.isShared else { return }
        var position: FeedPosition?
        while !Task.isCancelled {
            try? await Task.sleep(for: SessionHost.interval)
            guard watcherCount > 0 else {
                position = nil
                continue
            }
            // What cannot be read now is read the next time, from the same position.
            guard let changes = try? await store.changes(since: position) else { continue }
            let ids = feed.watched(before: changes.isComplete ? changes.versions : nil)
            if await tell(ids) { position = changes.position }
        }
    }

    /// - Returns: whether all sessions could be read.
    private func tell(_ ids: [SessionID]) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            var rest = ids[...]
            var areAllRead = true
            for id in rest.prefix(SessionHost.readers) { group.addTask { await self.tell(id) } }
            rest = rest.dropFirst(SessionHost.readers)
            for await isRead in group {
                areAllRead = areAllRead && isRead
                if let id = rest.popFirst() { group.addTask { await self.tell(id) } }
            }
            return areAllRead
        }
    }

    /// - Returns: whether the session could be read.
    private func tell(_ id: SessionID) async -> Bool {
        do throws(SessionError) {
            let session = try await inMemory(id, for: nil)
            try await isCurrent(session)
            let state = try session.current(for: nil, at: now())
            feed.report(id, SessionUpdate(state))
            return true
        } catch {
            switch error {
            case .ended, .unauthorized: feed.reportEnd(of: id)
            // Watchers know when it expires; those whom this build cannot serve get an error when they come again.
            case .expired, .newerApp, .incompatible, .damaged: break
            default: return false
            }
            return true
        }
    }
}
