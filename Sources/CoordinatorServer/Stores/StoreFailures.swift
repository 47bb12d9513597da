internal import ArgumentParser
internal import ByteText
internal import Glibc
internal import SQLiteStore

extension ExitCode {
    /// A store cannot be used: prints to standard error what is wrong with it.
    static func cannotUse(_ directory: String, _ error: SQLiteStoreError, by user: DirectoryUser) -> ExitCode {
        switch error {
        case .missing:
            cannotStart(
                EX_NOINPUT, "there is no store in \(directory); name its directory with --store sqlite:DIRECTORY")
        case .inUse(let path):
            cannotStart(
                EX_UNAVAILABLE,
                "\(path) is in use by another process"
                    + (user == .command ? ": stop the server that uses the store first" : ""))
        case .newer(let schema):
            cannotStart(EX_DATAERR, "\(directory) was written by a newer build, with schema \(schema)")
        case .damaged(let what):
            cannotStart(
                EX_DATAERR,
                """
                \(directory) is damaged: \(what). Restore a backup into another directory. If there is none, and `sessions \
                export` can still read the store, `sessions import` makes a new one of its undamaged sessions.
                """)
        case .incomplete(let what): cannotStart(EX_DATAERR, what)
        case .unavailable(let reason):
            if let fault = Directory(path: directory).fault(option: "--store sqlite:DIRECTORY", for: user) {
                cannotStart(EX_CONFIG, fault)
            } else {
                cannotStart(EX_IOERR, reason.begins(with: directory) ? reason : "\(directory): \(reason)")
            }
        }
    }

    /// A command cannot read a store.
    static func cannotRead(_ directory: String, _ error: SQLiteStoreError) -> ExitCode {
        guard case .damaged(let what) = error else { return .cannotUse(directory, error, by: .command) }
        return .cannotStart(
            EX_DATAERR,
            """
            \(directory) is damaged, and this command cannot read it: \(what). Start a server on it, or restart the one \
            that runs: the start repairs or rebuilds the store. If the start is refused, only a backup helps.
            """)
    }
}
