internal import ArgumentParser
internal import ByteText
internal import Glibc
internal import Sessions

// Functions that throw an exit code have printed the reason to standard error.

/// The store of a command that works on it from outside.
extension SettingValues<Settings.Store> {
    /// A store that outlives processes.
    ///
    /// - Throws: `ValidationError` for the one in memory.
    var lasting: StoreChoice {
        get throws {
            guard self.location != .memory else {
                let name = resolution.given(Settings.Store().location).name
                throw ValidationError("\(name) must be sqlite:DIRECTORY or postgresql://… here.")
            }
            return self.location
        }
    }

    /// Another reader of the store, for work within `read` or `write`.
    func reader() throws -> any StoreReader { try lasting.reader(try password()) }

    /// Reads the store as it is now, whether servers run on it or not.
    ///
    /// - Throws: an exit code if the store cannot be read; otherwise what `body` throws.
    func read<Value>(_ body: (any StoreReader) async throws -> Value) async throws -> Value {
        do { return try await body(reader()) } catch { throw self.location.reported(error) }
    }

    /// Changes the store, if it exists. Servers may run only on one that is shared.
    ///
    /// - Parameter report: receives what an operator should know.
    /// - Throws: as `read`.
    func write<Value>(
        report: @escaping @Sendable (String) -> Void = StandardError.print,
        _ body: (any WritableStore) async throws -> Value
    ) async throws -> Value {
        let store = try lasting
        do { try store.checkExistence(try password()) } catch { throw store.reported(error) }
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

    /// Opens the store for changes; creates it if it does not exist.
    ///
    /// - Throws: an exit code.
    func open(
        newSecret: StoreSecret? = nil, report: @escaping @Sendable (String) -> Void = StandardError.print
    ) async throws -> any WritableStore {
        // A command removes nothing that the servers retain.
        let everything = Retention(versions: .max, answers: .max, versionBytes: .max, answerBytes: .max)
        return try await lasting.open(
            by: .command, try password(), everything, newSecret: newSecret, report: { text, _ in report(text) }
        ) { reason in
            StandardError.print("Error: the storage has failed: \(reason)")
            _exit(EX_IOERR)
        }
    }
}

/// The store of a server.
extension SettingValues<Settings.Storage> {
    var isInMemory: Bool { self.store.location == .memory }

    var retention: Retention { Retention(versions: self.history) }

    /// - Parameters:
    ///   - report: receives what an operator should know, and whether it is critical.
    ///   - failed: called when only opening the store again can show what is in it.
    /// - Throws: an exit code.
    func open(
        report: @escaping @Sendable (_ text: String, _ isCritical: Bool) -> Void,
        failed: @escaping @Sendable (String) -> Void
    ) async throws -> any SessionStore {
        guard !isInMemory else { return MemoryStore(retention: retention, limitBytes: self.storeSize?.bytes ?? .max) }
        return try await self.store.location.open(
            by: .server, try self.store.password(), creating: self.shared.createStore, durability: self.durability,
            retention,
            sizeLimit: self.storeSize?.bytes ?? 0, report: report, failed: failed)
    }

    /// The store and what it promises, for the start line.
    var announcement: String {
        let promise = self.durability == .relaxed ? ", relaxed: power loss may cost the last events" : ""
        return isInMemory ? "memory, sessions end with this process" : "\(self.store.location)\(promise)"
    }
}
