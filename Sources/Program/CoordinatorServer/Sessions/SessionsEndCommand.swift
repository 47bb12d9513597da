internal import ArgumentParser
internal import FoundationEssentials
internal import Glibc
internal import Sessions

/// `sessions end`: ends stored sessions.
struct SessionsEndCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "end", abstract: "Ends sessions: those that are named, or all that a user is signed in to.",
        discussion: """
            Their clients get 410, as after DELETE. Forks of a user's sessions are the user's, too. No server may run \
            on a store in a file. Sessions that are over already stay as they are. The exit code is 1 if a session \
            does not exist, or is damaged.
            """)
    @OptionGroup var settings: SettingOptions<Settings.OfStore>
    @Option(help: "All that this user is signed in to.") var user: String?
    @Argument(help: "The sessions' ids.", transform: SessionID.parse) var ids: [SessionID] = []

    func validate() throws {
        if user != nil, !ids.isEmpty { throw ValidationError("Give either session ids or --user, not both.") }
        if user == nil, ids.isEmpty { throw ValidationError("Name sessions, or give --user.") }
    }

    func run() async throws {
        let (count, isWhole) = try await settings.store.write { try await end(try settings.store.reader(), $0) }
        print("ended: \(count)")
        guard isWhole else { throw ExitCode(1) }
    }

    private func end(
        _ reader: any StoreReader, _ store: any WritableStore
    ) async throws -> (count: Int, isWhole: Bool) {
        let wanted = try user.map(reader.sessions(ofUser:)) ?? ids
        var isWhole = true
        do {
            let count = try await store.change(wanted) { ids in
                var changes: [SessionChange] = []
                var hasUnknown = false
                let isRead = try await reader.forEach(ids, reader.lastVersions) { id, session in
                    guard let session else {
                        hasUnknown = true
                        return StandardError.print("Error: there is no session \(id.text)")
                    }
                    let last = session.record
                    guard user == nil || last.identity.user == user, let record = last.end(at: Date()) else { return }
                    changes.append(SessionChange(id: id, expected: session.stamp, record: record))
                }
                isWhole = isWhole && isRead && !hasUnknown
                return changes
            }
            return (count, isWhole)
        } catch is NotCommitted {
            throw ExitCode.cannotStart(EX_IOERR, "the sessions cannot be ended")
        }
    }
}

/// `sessions purge`: removes sessions for good.
struct SessionsPurgeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "purge", abstract: "Removes sessions: those that are named, or all that have ended or expired.",
        discussion: """
            No server may run on a store in a file. With --over, sessions stay whose clean-ups (willBeRemoved) a server \
            has yet to do; those that are named are removed without them. Damaged sessions are removed if they are \
            named; with --over they stay, and are reported on standard error. The exit code is 1 if a session does not \
            exist, or stays.
            """)
    @OptionGroup var settings: SettingOptions<Settings.OfStore>
    @Flag(help: "All that have ended or expired.") var over = false
    @Argument(help: "The sessions' ids.", transform: SessionID.parse) var ids: [SessionID] = []

    func validate() throws {
        if over, !ids.isEmpty { throw ValidationError("Give either session ids or --over, not both.") }
        if !over, ids.isEmpty { throw ValidationError("Name sessions, or give --over.") }
    }

    func run() async throws {
        var (rest, isWhole) = over ? try await sessionsThatAreOver() : (ids, true)
        var purged = 0
        let named = ids.map(\.text)
        let total = rest.count
        var progress = Progress("purge")
        for isLast in [false, true] {
            let ids = rest
            rest = []
            // The named sessions are removed, so reports about them do not matter.
            try await settings.store.write { report in
                if !named.contains(where: { report.contains($0) }) { StandardError.print(report) }
            } _: { store in
                for id in ids {
                    do {
                        if store.isShared { await end(id, in: store) }
                        if try await store.forget(id) {
                            purged += 1
                        } else {
                            StandardError.print("Error: there is no session \(id.text)")
                            isWhole = false
                        }
                    } catch {
                        rest.append(id)
                        if isLast { StandardError.print("Error: session \(id.text) cannot be purged: \(error)") }
                    }
                    progress.show(purged, of: total)
                }
            }
            // Opening the store again rebuilds it, if damage was in the way.
            if rest.isEmpty { break }
        }
        progress.hide()
        print("purged: \(purged)")
        guard isWhole, rest.isEmpty else { throw ExitCode(1) }
    }

    /// Ends the session first, so that servers notify its watchers. A damaged session cannot be ended, only removed.
    private func end(_ id: SessionID, in store: any WritableStore) async {
        _ = try? await store.change([id]) { _ in
            guard let last = try await store.load(id, token: nil), let end = last.record.end(at: Date()) else {
                return []
            }
            return [SessionChange(id: id, expected: last.stamp, record: end)]
        }
    }

    /// Damaged sessions are left out, because it is not known whether they have expired.
    private func sessionsThatAreOver() async throws -> ([SessionID], isWhole: Bool) {
        var over: [SessionID] = []
        var kept = 0
        let now = Date()
        var progress = Progress("search")
        defer { progress.hide() }
        let isWhole = try await settings.store.read { reader in
            try await reader.forEach(nil, reader.lastVersions, progress: { progress.show($0, of: $1) }) { id, session in
                guard let record = session?.record, record.isOver(at: now) else { return }
                if record.endsWithCleanUps { kept += 1 } else { over.append(id) }
            }
        }
        if kept > 0 { StandardError.print("kept: \(kept) that a server has yet to clean up") }
        return (over, isWhole)
    }
}

/// `sessions restore`: returns a session to one of its versions.
struct SessionsRestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore", abstract: "Returns a session to an earlier version, as its next version.",
        discussion: """
            For a session that a build has relaunched or reduced and that should be as it was before: with a build \
            that can restore that version. `sessions show` lists the versions. No server may run on a store in a file. \
            Versions from before the session's token was replaced, at a sign-in or a sign-out, stay sealed.
            """)
    @OptionGroup var settings: SettingOptions<Settings.OfStore>
    @Argument(help: "The session's id.", transform: SessionID.parse) var id: SessionID
    @Argument(help: "The version to return to.") var version: Int

    func run() async throws {
        let restored = try await settings.store.write { try await restore(try settings.store.reader(), $0) }
        print("\(id.text): version \(restored) is as version \(version) was")
    }

    private func restore(_ reader: any StoreReader, _ store: any WritableStore) async throws -> Int {
        var restored = version
        do {
            _ = try await store.change([id]) { ids in
                let change = try change(of: try reader.contents(of: [id]).first?.value.get())
                restored = change.stamp.version
                return [change]
            }
        } catch is NotCommitted {
            throw ExitCode.cannotStart(EX_IOERR, "the version cannot be written")
        }
        return restored
    }

    private func change(of session: StoredSession?) throws -> SessionChange {
        guard let session, let last = session.versions.last else {
            throw ExitCode.cannotStart(1, "there is no session \(id.text)")
        }
        do throws(ReturnError) {
            guard let past = session.versions.first(where: { $0.version == version }) else { throw .unknownVersion }
            return SessionChange(
                id: id, expected: session.stamp, record: try last.returning(to: past, at: Date()))
        } catch {
            throw ExitCode.cannotStart(1, reason(error, session.versions))
        }
    }

    private func reason(_ error: ReturnError, _ versions: [SessionRecord]) -> String {
        switch error {
        case .over: "session \(id.text) has ended or expired"
        case .unknownVersion:
            """
            session \(id.text) has no earlier version \(version); kept are \(versions.first?.version ?? 1) to \
            \(versions.last?.version ?? 1)
            """
        case .sealed: "version \(version) was made before the session's token was replaced, and stays sealed"
        }
    }
}

/// Changes were not committed.
private struct NotCommitted: Error {}

extension WritableStore {
    /// Commits changes of sessions. Sessions that a server has changed meanwhile are read and changed again.
    ///
    /// - Parameter make: reads the sessions that it is given, and returns at most one change for each.
    /// - Returns: how many changes were committed.
    /// - Throws: `NotCommitted`, and what `make` throws.
    fileprivate func change(
        _ ids: [SessionID], _ make: ([SessionID]) async throws -> [SessionChange]
    ) async throws -> Int {
        var ids = ids
        var count = 0
        for tries in 1... {
            let changes = try await make(ids)
            ids = try await conflicts(of: changes)
            count += changes.count - ids.count
            if ids.isEmpty { break }
            guard isShared, tries < 10 else { throw NotCommitted() }
            try await Task.sleep(for: .milliseconds(tries * Int.random(in: 10...50)))
        }
        return count
    }

    private func conflicts(of changes: [SessionChange]) async throws -> [SessionID] {
        // In small commits to a shared store, so that those of its servers do not wait for long.
        let size = isShared ? 500 : max(changes.count, 1)
        var conflicts: [SessionID] = []
        for start in stride(from: 0, to: changes.count, by: size) {
            switch await commit(Array(changes[start...].prefix(size))) {
            case .success(let found): conflicts += found
            case .failure: throw NotCommitted()
            }
        }
        return conflicts
    }
}
