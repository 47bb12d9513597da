internal import ArgumentParser
internal import ByteText
internal import Coordinators
internal import CoordinatorsTesting
internal import FoundationEssentials
internal import Glibc
internal import JSONCoding
internal import Sessions

/// `check`: reports what this build would do with every stored session. Run it before a new build goes live; the old
/// one may be running.
struct CheckCommand<Server: NavigationServer>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "check",
            abstract: "Reports what this build would do with every stored session.",
            discussion: """
                Prints a line for each session, then each reason with the number of its sessions, then the counts. A \
                session is restored as it is; migrated, if it is drawn differently or converted, but nothing is lost; \
                reduced, if parts of it are removed; relaunched with its defaults, if no screen of it is left; or \
                refused: it stays as it is, and its client gets an error. “over” are those that have ended or expired. \
                Damaged sessions are also reported on standard error, and damaged pages of the store are listed; the \
                next start rebuilds what is derived from the journal, if that is sound. Exits \
                1 if anything is damaged, or if any session would be reduced, relaunched or refused or has a stray \
                screen, which --explore finds nowhere in the whole app, and --allow does not name that, or if --compare \
                finds what breaks clients.

                Give it the lifetimes that `serve` will have.
                """)
    }

    @OptionGroup var settings: SettingOptions<Settings.OfCheck>

    @Option(help: "What may happen to sessions: reduced, relaunched, refused, stray, separated by commas.")
    var allow: AllowedOutcomes?

    @Flag(help: "Prints JSON: a line for each session, and one for the whole.")
    var json = false

    @Flag(help: "Also explores the apps, as graph does, and names screens of sessions that are found nowhere.")
    var explore = false

    @OptionGroup(visibility: .hidden)
    var exploration: ExplorationOptions

    @Option(
        help: """
            A file with what `describe --as json` or GET /v1/apps/{app} gave before: also reports, on standard error, \
            what has changed for the clients of that app.
            """)
    var compare: String?

    @OptionGroup(title: "Options of the apps")
    var own: Server.Options

    func run() async throws {
        let directory = settings.apps.data.directory
        let isThere = access(directory, F_OK) == 0 || errno != ENOENT
        var setup = ServerSetup(
            isDevelopment: settings.apps.development, dataDirectory: isThere ? directory : nil, options: own)
        let apps = try await Server.soundApps(&setup)
        let breaksClients = try await breaksClients(of: apps)
        var lifetimes = SessionSettings()
        settings.lifetimes.apply(to: &lifetimes)
        let host = SessionHost(apps: apps, store: MemoryStore(), settings: lifetimes)
        let explore = explore

        let (summary, isWhole) = try await settings.store.read { reader in
            // A damaged page may contain older versions, so then all versions of each session are read.
            var progress = Progress("check of pages")
            var summary = CheckSummary(damagedPages: reader.damagedPages { progress.show($0, of: $1) })
            progress.hide()
            let depth = summary.damagedPages.isEmpty ? ReadingDepth.answers : .past
            let isWhole = try await reader.scan(depth, "check", another: { try settings.store.reader() }) {
                CheckedSession($0, $1, by: host, withScreens: explore)
            } each: { session in
                summary.add(session)
                if let remark = session.remark {
                    StandardError.print("Warning: session \(session.session) \(remark)")
                }
                print(json ? session.json : session.line)
            }
            return (summary, isWhole)
        }
        print(json ? summary.json : summary.text)
        if summary.hasDamage, let outlook = settings.store.location.requestRebuild() {
            StandardError.print("Warning: the store is damaged; \(outlook)")
        }
        let hasStray = explore ? try await hasStrayScreens(summary.screens) : false
        let isAllowed = (allow ?? AllowedOutcomes()).include(summary, hasStray: hasStray)
        if !isWhole || !summary.damagedPages.isEmpty || !isAllowed || breaksClients { throw ExitCode(1) }
    }

    /// Reports what differs from the description in the file of `--compare`.
    private func breaksClients(of apps: [App]) async throws -> Bool {
        guard let file = compare else { return false }
        let before = try DescribedApp(try JSON(describing: file, of: "--compare"), in: file)
        guard let app = apps.first(where: { $0.name == before.name }) else {
            StandardError.print("Warning: breaks all clients: there is no app “\(before.name)” any more")
            return true
        }
        var description = AppDescription(app)
        if before.wasExplored {
            (_, description) = try await Server.explore(
                app.name, own, limit: DescribeCommand<Server>.usualLimit, exploration.eventLimit, "check")
        }
        let comparison = AppComparison(from: before, to: try DescribedApp(description.json, in: "the description"))
        for line in comparison.lines { StandardError.print("App “\(app.name)”: \(line)".printable) }
        return !comparison.breaks.isEmpty
    }

    /// Reports the screens of sessions that exploring their apps does not find; with the dependencies that are made for
    /// development, so that no handler touches what users see.
    ///
    /// - Parameter screens: how many sessions have each, by app.
    /// - Returns: whether there are any of an app that was explored as a whole.
    private func hasStrayScreens(_ screens: [String: [String: Int]]) async throws -> Bool {
        let directory = FileManager.default.temporaryDirectory.appending(path: "coordinatord-check-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        var setup = ServerSetup(isDevelopment: true, dataDirectory: directory, options: own)
        var hasStray = false
        for app in try await Server.soundApps(&setup) {
            guard let counts = screens[app.name] else { continue }
            var found: Set<String> = []
            let watch = CallWatch(limit: exploration.eventLimit)
            let map = try? await AppMap(
                exploring: app, limit: 500,
                visit: { found.formUnion($0.result.state.screens.map(\.screen.name)) },
                by: { (run) async throws(NavigationError) in try await result(of: run, watch) })
            let isComplete = map?.isComplete == true
            for (screen, count) in counts.sorted(by: { $0.key < $1.key }) where !found.contains(screen) {
                hasStray = hasStray || isComplete
                StandardError.print(
                    "Warning: exploring \(isComplete ? "" : "a part of ")“\(app.name)” found its screen “\(screen)” "
                        + "nowhere, which sessions have: \(count)")
            }
        }
        return hasStray
    }
}

/// What happens to one session.
struct CheckedSession: Sendable, Encodable {
    let session: String
    /// `nil` if the session cannot be read.
    let app: String?
    let outcome: String
    let details: String
    /// What is odd about it, and does not change the outcome.
    let remark: String?
    /// The names of its screens, if they were asked for.
    let screens: Set<String>

    private enum CodingKeys: CodingKey {
        case session, app, outcome, details
    }

    /// - Returns: `nil` if there is no such session any more.
    fileprivate init?(
        _ id: SessionID, _ found: Result<LoadedSession?, SessionDamage>, by host: SessionHost, withScreens: Bool
    ) {
        session = id.text
        switch found {
        case .success(nil): return nil
        case .success(let loaded?):
            let record = loaded.record
            app = record.identity.app
            (outcome, details) = host.restorePlan(for: record).words
            screens = withScreens ? host.restoredScreens(of: record) : []
            remark = record.time > .latestSoundTime ? "is of \(record.time.timestamp): was it imported?" : nil
        case .failure(let damage):
            app = nil
            (outcome, details, remark, screens) = ("damaged", damage.what, nil, [])
        }
    }

    /// One line of the report. The reason of a damaged session is not in it, but on standard error.
    fileprivate var line: String {
        [session, outcome, outcome == "damaged" ? "" : details].filter { !$0.isEmpty }.joined(separator: " ").printable
    }
}

/// How many sessions each outcome has, and why.
struct CheckSummary: Encodable {
    private(set) var counts = Dictionary(uniqueKeysWithValues: CheckSummary.outcomes.map { ($0, 0) })
    private(set) var reasons: [Reason] = []
    let damagedPages: [Int]
    /// How many sessions have each screen, by app.
    private(set) var screens: [String: [String: Int]] = [:]

    private enum CodingKeys: CodingKey {
        case counts, reasons, damagedPages
    }

    fileprivate static let outcomes = ["restored", "migrated", "reduced", "relaunched", "refused", "over", "damaged"]

    struct Reason: Encodable {
        let app: String?
        let outcome: String
        let details: String
        var count: Int
    }

    /// How many reasons are listed, so that memory stays bounded. Sessions with further reasons are still counted.
    private static let reasonLimit = 1000

    fileprivate var hasDamage: Bool { !damagedPages.isEmpty || counts["damaged"] != 0 }

    mutating func add(_ session: CheckedSession) {
        counts[session.outcome, default: 0] += 1
        for screen in session.screens { screens[session.app ?? "", default: [:]][screen, default: 0] += 1 }
        guard !session.details.isEmpty, session.outcome != "damaged" else { return }
        let same = reasons.firstIndex {
            $0.app == session.app && $0.outcome == session.outcome && $0.details == session.details
        }
        if let same {
            reasons[same].count += 1
        } else if reasons.count < CheckSummary.reasonLimit {
            reasons.append(
                Reason(app: session.app, outcome: session.outcome, details: session.details, count: 1))
        }
    }

    fileprivate var text: String {
        let reasons = reasons.sorted { $0.count > $1.count }.map { reason in
            "\(reason.count) of \(reason.app ?? "-") \(reason.outcome) \(reason.details)".printable
        }
        let total = CheckSummary.outcomes.map { "\($0): \(counts[$0] ?? 0)" }.joined(separator: ", ")
        let pages = damagedPages.map { "page \($0) of the database is damaged" }
        return (reasons + [total] + pages).joined(separator: "\n")
    }
}

extension Encodable {
    /// The value as one line of JSON.
    fileprivate var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}

/// The value of `--allow`.
struct AllowedOutcomes: ExpressibleByArgument {
    private static let known = ["reduced", "relaunched", "refused", "stray"]
    private let names: [String]

    init() {
        names = []
    }

    init?(argument: String) {
        names = argument.parts(at: ",").map(String.init)
        guard !names.isEmpty, names.allSatisfy(AllowedOutcomes.known.contains) else { return nil }
    }

    func include(_ summary: CheckSummary, hasStray: Bool) -> Bool {
        (AllowedOutcomes.known + ["damaged"]).allSatisfy { outcome in
            names.contains(outcome) || (outcome == "stray" ? !hasStray : summary.counts[outcome] == 0)
        }
    }
}
