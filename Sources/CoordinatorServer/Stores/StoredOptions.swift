internal import ArgumentParser
internal import ByteText
internal import Glibc
internal import Sessions

/// `--store` of a command that needs one that outlives processes.
struct StoredOptions: ParsableArguments {
    @Option(help: Settings.store.help, transform: Settings.store.parse)
    var store = Settings.store.standard

    @OptionGroup var password: PasswordOptions

    @OptionGroup var config: ConfigOptions

    func validate() throws {
        guard store != .memory else {
            let name = SettingResolution.current[Settings.store.row.name]?.name ?? Settings.store.row.flag
            throw ValidationError("\(name) must be sqlite:DIRECTORY or postgresql://… here.")
        }
    }

    /// Another reader of the store, for work within `read` or `write`.
    func reader() throws -> any StoreReader { try store.reader(try password.password()) }

    /// Reads the store as it is now, whether servers run on it or not.
    ///
    /// - Throws: an exit code instead of what reading the store throws; else what `body` throws.
    func read<Value>(_ body: (any StoreReader) async throws -> Value) async throws -> Value {
        do { return try await body(reader()) } catch { throw store.reported(error) }
    }

    /// Changes the store, if it exists. Servers may run only on one that is shared.
    ///
    /// - Parameter report: receives what an operator should know.
    /// - Throws: as `read`.
    func write<Value>(
        report: @escaping @Sendable (String) -> Void = StandardError.print,
        _ body: (any WritableStore) async throws -> Value
    ) async throws -> Value {
        do { try store.checkExistence(try password.password()) } catch { throw store.reported(error) }
        let opened = try await open(report: report)
        do {
            let value = try await body(opened)
            await opened.close()
            return value
        } catch {
            let reported = store.reported(error)
            await opened.close()
            throw reported
        }
    }

    /// The store to change it; created if it does not exist.
    ///
    /// - Throws: an exit code.
    func open(
        newSecret: StoreSecret? = nil, report: @escaping @Sendable (String) -> Void = StandardError.print
    ) async throws -> any WritableStore {
        // Everything in the store stays, whatever the servers' retention is.
        let everything = Retention(versions: .max, answers: .max, versionBytes: .max, answerBytes: .max)
        return try await store.open(
            by: .command, try password.password(), everything, newSecret: newSecret, report: { text, _ in report(text) }
        ) { reason in
            StandardError.print("Error: the storage has failed: \(reason)")
            _exit(EX_IOERR)
        }
    }
}

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
