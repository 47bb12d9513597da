internal import ArgumentParser
internal import FoundationEssentials
internal import Glibc
internal import Sessions

/// `sessions restore`: returns a session to one of its versions.
struct SessionsRestoreCommand: AsyncParsableCommand, SettingsCommand {
    static let settings = storeSettings
    static let configuration = CommandConfiguration(
        commandName: "restore", abstract: "Returns a session to an earlier version, as its next version.",
        discussion: """
            For a session that a build has relaunched or reduced and that should be as it was before: with a build that \
            can restore that version. `sessions show` lists the versions. No server may run on a store in a file. \
            Versions from before the session's token was replaced, at a sign-in or a sign-out, stay sealed.
            """)
    @OptionGroup var stored: StoredOptions
    @Argument(help: "The session's id.", transform: SessionID.parse) var id: SessionID
    @Argument(help: "The version to return to.") var version: Int

    func run() async throws {
        let store = try await stored.writer { StandardError.print($0) }
        do {
            let restored = try await restore(try stored.reader(), store)
            await store.close()
            print("\(id.text): version \(restored) is as version \(version) was")
        } catch {
            await store.close()
            throw error
        }
    }

    private func restore(_ reader: any StoreReading, _ store: any StoreWriting) async throws -> Int {
        var restored = version
        do {
            _ = try await store.change([id]) { ids in
                let change = try change(of: try session(by: reader))
                restored = change.stamp.version
                return [change]
            }
        } catch is NotCommitted {
            throw ExitCode.cannotStart(EX_IOERR, "the version cannot be written")
        }
        return restored
    }

    private func session(by reader: any StoreReading) throws -> StoredSession {
        switch try reader.contents(of: [id]).first?.value {
        case .success(let session?): return session
        case .success(nil), nil: throw ExitCode.cannotStart(1, "there is no session \(id.text)")
        case .failure(let damage): throw reader.cannotRead(id, damage)
        }
    }

    private func change(of session: StoredSession) throws -> SessionChange {
        guard let last = session.versions.last else {
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
