internal import ArgumentParser
internal import FoundationEssentials
internal import Sessions

/// `sessions purge`: removes sessions for good.
struct SessionsPurgeCommand: AsyncParsableCommand, SettingsCommand {
    static let settings = storeSettings
    static let configuration = CommandConfiguration(
        commandName: "purge", abstract: "Removes sessions: those that are named, or all that have ended or expired.",
        discussion: """
            No server may run on a store in a file. Damaged sessions are removed if they are named; with --over they \
            stay, and are reported on standard error. The exit code is 1 if a session does not exist, or stays.
            """)
    @OptionGroup var stored: StoredOptions
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
            // What is wrong with the named sessions does not matter any more.
            let store = try await stored.writer { report in
                if !named.contains(where: { report.contains($0) }) { StandardError.print(report) }
            }
            var failed: [SessionID] = []
            for id in rest {
                do {
                    if store.isShared { await end(id, in: store) }
                    if try await store.forget(id) {
                        purged += 1
                    } else {
                        StandardError.print("Error: there is no session \(id.text)")
                        isWhole = false
                    }
                } catch {
                    failed.append(id)
                    if isLast { StandardError.print("Error: session \(id.text) cannot be purged: \(error)") }
                }
                progress.show(purged, of: total)
            }
            await store.close()
            rest = failed
            // If damage was in the way, the store is rebuilt when it is opened again.
            if rest.isEmpty { break }
        }
        progress.hide()
        print("purged: \(purged)")
        guard isWhole, rest.isEmpty else { throw ExitCode(1) }
    }

    /// So that servers tell those who watch the session. A damaged one has no end but that it is gone.
    private func end(_ id: SessionID, in store: any StoreWriting) async {
        _ = try? await store.change([id]) { _ in
            guard let last = try await store.load(id, token: nil), let end = last.record.end(at: Date()) else {
                return []
            }
            return [SessionChange(id: id, expected: last.stamp, record: end)]
        }
    }

    /// Without the damaged sessions: it is not known whether those have expired.
    private func sessionsThatAreOver() async throws -> ([SessionID], isWhole: Bool) {
        let reader = try stored.reader()
        var over: [SessionID] = []
        let now = Date()
        var progress = Progress("search")
        let isWhole = try await reader.forEach(nil, reader.loaded, progress: { progress.show($0, of: $1) }) {
            id, session in
            if session?.record.isOver(at: now) == true { over.append(id) }
        }
        progress.hide()
        return (over, isWhole)
    }
}
