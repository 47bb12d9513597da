internal import ArgumentParser
internal import ByteText
internal import FoundationEssentials
internal import Glibc
internal import PostgresStore
internal import Sessions

/// A database as the command line names it.
struct PostgresAddress: Sendable {
    let uri: String
    let password: String?
}

// What throws an exit code has printed the reason to standard error.
extension PostgresAddress {
    /// Without secrets.
    var location: String { (try? PostgresStore.location(of: uri)) ?? "postgresql://" }

    /// - Throws: `ValidationError`, also for a URI with a password.
    static func validate(uri: String) throws {
        do throws(PostgresStoreError) {
            _ = try PostgresStore.location(of: uri)
        } catch .secretInURI(let reason) {
            throw ValidationError(
                "\(reason). --store-password-file names such a file, \(PasswordOptions.variable) may have it, too."
            )
        } catch {
            throw ValidationError("\(error).")
        }
    }

    /// The store for a server; created if it does not exist.
    func store(
        _ durability: DurabilityChoice, _ retention: Retention,
        report: @escaping @Sendable (_ text: String, _ isCritical: Bool) -> Void
    ) async throws -> any SessionStore {
        try await open(durability == .strict ? .strict : .relaxed, retention, report: report)
    }

    func reader() throws -> any StoreReading { try PostgresReading(self) }

    /// The store to change it, if it exists.
    func writer(
        _ retention: Retention, report: @escaping @Sendable (String) -> Void
    ) async throws -> any StoreWriting {
        // Opening it would make the tables.
        _ = try PostgresReading(self)
        return try await open(.relaxed, retention) { text, _ in report(text) }
    }

    func inserter() throws -> any SessionInserting { PostgresInserting(self) }

    private func open(
        _ durability: PostgresStore.Durability, _ retention: Retention,
        report: @escaping @Sendable (_ text: String, _ isCritical: Bool) -> Void
    ) async throws -> PostgresStore {
        do throws(PostgresStoreError) {
            return try await PostgresStore.open(
                uri: uri, password: password, durability: durability, retention: retention, report: report)
        } catch {
            throw ExitCode.cannotUse(location, error)
        }
    }

    func reading<Value>(_ body: () throws(PostgresStoreError) -> Value) throws -> Value {
        do throws(PostgresStoreError) { return try body() } catch { throw ExitCode.cannotUse(location, error) }
    }
}

extension PostgresStore: StoreWriting {}

/// Where the password of a database comes from, if not from libpq's own PGPASSWORD or password file.
struct PasswordOptions: ParsableArguments {
    /// The password itself.
    static let variable = Settings.storePassword.row.variable

    @Option(help: Settings.storePassword.help, transform: Settings.storePassword.parse)
    var storePasswordFile: String?

    /// The password; `nil` if libpq has to look for one.
    ///
    /// - Throws: an exit code, after printing the reason to standard error.
    func password() throws -> String? {
        guard let path = storePasswordFile else {
            return Settings.storePassword.row.secretInEnvironment
        }
        let bytes: [UInt8]
        do throws(SmallFile.Unreadable) { bytes = try SmallFile.bytes(of: path) } catch {
            throw ExitCode.cannotStart(EX_NOINPUT, "--store-password-file: \(error.reason)")
        }
        let line = bytes.prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
        // libpq would use what stands before a NUL.
        guard !line.isEmpty, !line.contains(0), let password = String(validating: line, as: UTF8.self) else {
            throw ExitCode.cannotStart(EX_NOINPUT, "--store-password-file: the first line of \(path) is no password")
        }
        return password
    }
}

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
