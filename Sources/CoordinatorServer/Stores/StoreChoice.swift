internal import ArgumentParser
internal import ByteText
internal import SQLiteStore

/// The value of `--store`.
enum StoreChoice: Equatable {
    case memory
    case sqlite(directory: String)
    /// As libpq reads it, without a password.
    case postgres(uri: String)

    /// How a database is written, for help and errors.
    static let postgresForm = "postgresql://USER@HOST:PORT[,HOST:PORT]/DATABASE"

    @Sendable static func parse(_ text: String) throws -> StoreChoice {
        let scheme = "sqlite:"
        if text == "memory" { return .memory }
        // Not judged here: an error of an argument repeats it, and there may be a password in it.
        if ["postgresql:", "postgres:"].contains(where: text.begins) { return .postgres(uri: text) }
        if let (other, _) = text.cut(at: ":"), !text.begins(with: scheme), !other.has("/") {
            throw ValidationError(
                "There is no store “\(other)”: write sqlite:DIRECTORY, \(postgresForm) or memory.")
        }
        guard text.begins(with: scheme), text != scheme else {
            let directory = text.isEmpty || text == scheme ? "DIRECTORY" : text
            throw ValidationError("Write sqlite:\(directory) for the directory \(directory).")
        }
        return .sqlite(directory: String(Substring(text.utf8.dropFirst(scheme.utf8.count))))
    }

    var isPostgres: Bool {
        if case .postgres = self { true } else { false }
    }

    /// - Throws: `ValidationError`, if the store is one that cannot be named so, or that this program cannot use.
    func validate() throws {
        guard case .postgres(let uri) = self else { return }
        try PostgresAddress.validate(uri: uri)
    }
}

/// The value of `--durability`.
enum DurabilityChoice: String, CaseIterable, ExpressibleByArgument {
    case strict, relaxed

    var forSQLite: SQLiteStore.Durability {
        switch self {
        case .strict: .strict
        case .relaxed: .relaxed
        }
    }
}

extension StoreChoice {
    /// For people: without secrets.
    var location: String {
        switch self {
        case .memory: "memory"
        case .sqlite(let directory): "sqlite:\(directory)"
        case .postgres(let uri): PostgresAddress(uri: uri, password: nil).location
        }
    }
}
