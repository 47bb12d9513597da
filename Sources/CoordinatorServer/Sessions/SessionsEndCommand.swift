internal import ArgumentParser
internal import FoundationEssentials
internal import Glibc
internal import Sessions

/// `sessions end`: ends stored sessions.
struct SessionsEndCommand: AsyncParsableCommand, SettingsCommand {
    static let settings = storeSettings
    static let configuration = CommandConfiguration(
        commandName: "end", abstract: "Ends sessions: those that are named, or all that a user is signed in to.",
        discussion: """
            Their clients get 410, as after DELETE. Forks of a user's sessions are the user's, too. No server may run on a \
            store in a file. Sessions that are over already stay as they are. The exit code is 1 if a session does not exist, \
            or is damaged.
            """)
    @OptionGroup var stored: StoredOptions
    @Option(help: "All that this user is signed in to.") var user: String?
    @Argument(help: "The sessions' ids.", transform: SessionID.parse) var ids: [SessionID] = []

    func validate() throws {
        if user != nil, !ids.isEmpty { throw ValidationError("Give either session ids or --user, not both.") }
        if user == nil, ids.isEmpty { throw ValidationError("Name sessions, or give --user.") }
    }

    func run() async throws {
        let store = try await stored.writer { StandardError.print($0) }
        do {
            let (count, isWhole) = try await end(try stored.reader(), store)
            await store.close()
            print("ended: \(count)")
            guard isWhole else { throw ExitCode(1) }
        } catch {
            await store.close()
            throw error
        }
    }

    private func end(_ reader: any StoreReading, _ store: any StoreWriting) async throws -> (count: Int, isWhole: Bool)
    {
        let wanted = try user.map(reader.sessions(ofUser:)) ?? ids
        var isWhole = true
        do {
            let count = try await store.change(wanted) { ids in
                var changes: [SessionChange] = []
                var hasUnknown = false
                let isRead = try await reader.forEach(ids, reader.loaded) { id, session in
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
