internal import ByteText
internal import ArgumentParser
internal import Glibc
internal import PostgresStore

extension ExitCode {
    /// A database cannot be used: prints to standard error what is wrong with it.
    ///
    /// - Parameter location: the database without secrets.
    static func cannotUse(_ location: String, _ error: PostgresStoreError) -> ExitCode {
        switch error {
        case .unusableURI(let reason), .secretInURI(let reason): cannotStart(EX_USAGE, "--store: \(reason)")
        case .noSchema, .olderSchema, .relaxed: cannotStart(EX_CONFIG, "\(location): \(error)")
        case .newerSchema, .damaged: cannotStart(EX_DATAERR, "\(location): \(error)")
        case .unavailable(let reason): unavailable(location, reason)
        }
    }

    /// A refused connection has no code, only the server's words.
    private static func unavailable(_ location: String, _ reason: String) -> ExitCode {
        let reason = reason.substituting("\n", with: " ")
        func says(_ words: String...) -> Bool { words.allSatisfy(reason.contains) }
        let (code, advice): (CInt, String?) =
            if says("password authentication failed") || says("no password supplied") {
                (EX_NOPERM, "give the password with --store-password-file or \(PasswordOptions.variable)")
            } else if says("database", "does not exist") {
                (EX_NOINPUT, "create it, for example with createdb, or name another one")
            } else if says("role", "does not exist") || says("no pg_hba.conf entry") {
                (EX_NOPERM, "name another user in the URI, or let the database's administrator admit this one")
            } else if says("permission denied for schema") {
                (EX_NOPERM, "run `coordinatord migrate` as a role that may create tables there")
            } else if says("permission denied") {
                (EX_NOPERM, "GRANT SELECT, INSERT, UPDATE, DELETE on the store's tables to this role")
            } else if says("certificate") {
                (EX_UNAVAILABLE, "see sslmode, sslrootcert and the server's certificate")
            } else if says("could not translate host name") || says("did not accept a connection") {
                (EX_UNAVAILABLE, "is the server running, and reachable from here?")
            } else {
                (EX_UNAVAILABLE, nil)
            }
        return cannotStart(code, "\(location): \(reason)" + (advice.map { "; \($0)" } ?? ""))
    }
}
