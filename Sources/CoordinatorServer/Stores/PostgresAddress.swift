internal import ArgumentParser
internal import Sessions

internal import PostgresStore

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
