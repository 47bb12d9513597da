#if !Complete
internal import ArgumentParser
internal import Coordinators
internal import Logging
internal import NavigationAPI
internal import Sessions
internal import Tracing

// The small server, which is built without the trait `Complete`, has these instead of the other files of this folder:
// there are no settings of what it lacks, and nothing switches it on.

extension Settings {
    struct Database: SettingGroup { static let title = Store.title }
    struct SharedStore: SettingGroup { static let title = Store.title }
    struct Traces: SettingGroup {}
    struct Console: SettingGroup {}
}

/// A store that this program refuses.
struct PostgresDatabase: Equatable, CustomStringConvertible {
    let uri: String
    var description: String { "postgresql://" }

    static let form: String? = nil
    static let metrics: [ServerMetric] = []

    func validate() throws { throw ValidationError("This program is built without PostgreSQL.") }

    // Never called, because no setting has a value that is not valid.
    func reader(_ password: DatabasePassword?) throws -> any StoreReader { throw ExitCode.failure }
    func open(
        _ password: DatabasePassword?, creating: Bool, durability: DurabilityChoice?, _ retention: Retention,
        newSecret: StoreSecret?,
        report: @escaping @Sendable (_ text: String, _ isCritical: Bool) -> Void
    ) async throws -> any WritableStore { throw ExitCode.failure }
    func migrate(_ password: DatabasePassword?, contracting: Bool) async throws -> (before: Int, after: Int) {
        throw ExitCode.failure
    }
    func reported(_ error: any Error) -> any Error { error }
}

extension SettingValues<Settings.Store> {
    func password() throws -> DatabasePassword? { nil }
}

extension SettingValues<Settings.SharedStore> {
    var createStore: Bool { false }
}

struct Traces {
    let tracer: any Tracer
    func finish() {}
}

enum TraceMetrics { static let all: [ServerMetric] = [] }

extension SettingValues<Settings.Traces> {
    var logMetadata: Logger.MetadataProvider? { nil }
    func tracing(of program: (name: String, version: String?)) -> Traces? { nil }
}

extension SettingValues<Settings.Console> {
    func settings(
        of server: String, apps: [App], isDevelopment: Bool
    ) throws -> (settings: ConsoleSettings, remark: String, keyFile: KeyFile?)? { nil }
}
#endif
