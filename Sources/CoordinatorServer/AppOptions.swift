public import ArgumentParser
internal import Coordinators
internal import Glibc
internal import Sessions

/// What the command line says that apps may depend on.
public struct AppOptions: Sendable {
    /// Whether the apps are to have what suits a developer: seeded accounts for one.
    public let isDevelopment: Bool
    /// The directory for the apps' own data. It need not exist: the app that needs it creates it. `nil` where nothing is to
    /// outlive the process, as with `--store memory`: then nothing is to be written to the disk.
    public let dataDirectory: String?

    public init(isDevelopment: Bool, dataDirectory: String?) {
        self.isDevelopment = isDevelopment
        self.dataDirectory = dataDirectory
    }
}

extension NavigationServer {
    /// The apps, declared without mistakes.
    ///
    /// - Throws: an exit code, when standard error has been told why: `EX_CONFIG` where they cannot be made, `EX_SOFTWARE`
    ///   where their declarations are wrong.
    static func soundApps(_ options: AppOptions) throws -> [App] {
        let made: [App]
        do {
            made = try apps(options)
        } catch {
            throw ExitCode.cannotUse(options.dataDirectory, because: "the apps cannot be made: \(error)")
        }
        let problems = made.isEmpty ? ["no app is declared"] : made.flatMap(\.problems)
        guard problems.isEmpty else { throw ExitCode.cannotStart(EX_SOFTWARE, problems.joined(separator: "; ")) }
        return made
    }

    /// Opens a session of each app, in memory, and forgets it. So a mistake in what a new session shows, an event that is
    /// misspelt on a screen for one, is found before a client can meet it. A `start` that throws, or takes too long, is no
    /// mistake: what it depends on may come.
    ///
    /// - Throws: `EX_SOFTWARE`, when standard error has been told why.
    static func checkLaunch(of apps: [App]) async throws {
        let host = SessionHost(apps: apps, store: MemoryStore())
        var problems: [String] = []
        for app in apps {
            do throws(SessionError) {
                _ = try await host.create(SessionRequest(app: app.name))
            } catch .cannotLaunch(let error, _) {
                if let mistake = error.mistake { problems.append("app “\(app.name)”: \(mistake)") }
            } catch {}
        }
        guard problems.isEmpty else { throw ExitCode.cannotStart(EX_SOFTWARE, problems.joined(separator: "; ")) }
    }
}

extension NavigationError {
    /// What is wrong with the app; `nil` where it may be right, and the circumstances are not.
    fileprivate var mistake: String? {
        switch self {
        case .impossibleRequest(let coordinator, let request, let reason):
            "\(coordinator) asks for \(request): \(reason)"
        case .invariantViolated(let violation): "what a new session shows cannot be: \(violation)"
        case .runawayTransition(let coordinator): "\(coordinator) starts without an end"
        default: nil
        }
    }
}

extension ExitCode {
    /// For commands of an author's own, too: the apps' data cannot be used. Standard error is told what is wrong with the
    /// directory and what to do about it, or else the reason.
    public static func cannotUse(_ dataDirectory: String?, because reason: String) -> ExitCode {
        let fault = dataDirectory.flatMap { Directory(path: $0).fault(option: "--data-directory") }
        return cannotStart(EX_CONFIG, fault ?? reason)
    }
}
