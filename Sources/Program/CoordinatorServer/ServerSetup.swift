public import ArgumentParser
internal import Coordinators
internal import CoordinatorsTesting
internal import Glibc
internal import Sessions

/// What a server's apps are made of: the command line, and the services that they need while the server runs.
public struct ServerSetup<Options: ParsableArguments> {
    /// Whether the apps get their development dependencies, such as seeded accounts.
    public let isDevelopment: Bool
    /// The directory for the apps' own data. It need not exist: an app that needs it creates it. `nil` if nothing may
    /// outlive the process, as with `--store memory`: then an app must write nothing to the disk.
    public let dataDirectory: String?
    /// The program's own options.
    public let options: Options
    /// What runs while the server runs, such as a pool of connections: started before the server listens, in this
    /// order, and asked to stop after the last request, in the opposite order; after five more seconds the process ends
    /// with exit code 70. A service that fails stops the server. Only `serve` runs them.
    public var services: [any Service] = []
}

/// The `Options` of a program that has none of its own.
public struct NoOptions: ParsableArguments {
    public init() {}
}

extension NavigationServer {
    /// Makes the apps, and checks their declarations.
    ///
    /// - Throws: an exit code, after printing the reason to standard error: `EX_CONFIG` if they cannot be made,
    ///   `EX_SOFTWARE` if their declarations are wrong.
    static func soundApps(
        _ setup: inout ServerSetup<Options>, by user: DirectoryUser = .command
    ) async throws -> [App] {
        let made: [App]
        do {
            made = try await apps(&setup)
        } catch {
            throw ExitCode.cannotUse(setup.dataDirectory, because: "the apps cannot be made: \(error)", by: user)
        }
        let problems = made.isEmpty ? ["no app is declared"] : made.flatMap(\.mistakes)
        guard problems.isEmpty else { throw ExitCode.cannotStart(EX_SOFTWARE, problems.joined(separator: "; ")) }
        return made
    }

    /// Opens a session of each app in memory and discards it. This finds a mistake in what a new session shows, such as
    /// a misspelt event of a screen, before a client can meet it. A `start` that throws, or takes too long, is not a
    /// mistake: what it depends on may become available later.
    ///
    /// - Throws: `EX_SOFTWARE`, after printing the reason to standard error.
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
    /// What is wrong with the app; `nil` if the app may be right and the cause outside of it.
    fileprivate var mistake: String? {
        switch self {
        case .impossibleRequest(let coordinator, let request, let reason):
            "\(coordinator) asks for \(request): \(reason)"
        case .invariantViolated(let violation): "a new session would break an invariant: \(violation)"
        case .runawayTransition(let coordinator):
            "the first transition does not end; \(coordinator) was the last coordinator that was called"
        default: nil
        }
    }
}

extension ExitCode {
    /// The apps' data cannot be used: prints to standard error what is wrong with the directory and what to do about
    /// it; if nothing is, the reason. Also for an author's own commands.
    public static func cannotUse(_ dataDirectory: String?, because reason: String) -> ExitCode {
        cannotUse(dataDirectory, because: reason, by: .command)
    }

    static func cannotUse(_ dataDirectory: String?, because reason: String, by user: DirectoryUser) -> ExitCode {
        let fault = dataDirectory.flatMap { Directory(path: $0).fault(option: "--data-directory", for: user) }
        return cannotStart(EX_CONFIG, fault ?? reason)
    }
}
