internal import ArgumentParser
internal import Glibc
internal import SQLiteStore
internal import Sessions

/// `check`: what this build would do with every session that is stored. To be run before a new build goes live, also
/// while the old one is.
struct CheckCommand<Server: NavigationServer>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "check",
            abstract: "Tells for every stored session what this build would do with it.",
            discussion: """
                Sessions are restored as they are, migrated from what an older version of the app has saved, relaunched \
                with their defaults, or refused. Damaged sessions are marked, and named on standard error; damaged pages of \
                the store are listed. Exits 1 when any session would be refused or anything is damaged.
                """)
    }

    @OptionGroup var stored: StoredOptions

    @Flag(help: "Gives the apps their development dependencies.")
    var development = false

    @Option(help: "The directory that the apps keep their own data in. Where it is not there, it is not made.")
    var dataDirectory = "data"

    func run() async throws {
        let isThere = access(dataDirectory, F_OK) == 0 || errno != ENOENT
        let apps = try Server.soundApps(
            AppOptions(isDevelopment: development, dataDirectory: isThere ? dataDirectory : nil))
        let host = SessionHost(apps: apps, store: MemoryStore())
        let snapshot = try stored.snapshot()
        // On damaged pages older versions may be, of which a session needs each as well.
        let damaged = snapshot.damagedPages()
        var counts: [String: Int] = [:]
        func report(_ id: SessionID, _ word: String, _ detail: String = "") {
            counts[word, default: 0] += 1
            print("\(id.text) \(word) \(detail)".printable)
        }
        let isWhole = try stored.forEach(
            in: snapshot, damaged: { report($0, "damaged") },
            { id throws(SQLiteStoreError) in
                let record = try damaged.isEmpty ? snapshot.load(id) : snapshot.versions(of: id).last
                guard let record else { return }
                _ = try snapshot.answers(of: id)
                let (word, detail) = host.fate(of: record).words
                report(id, word, detail)
            })
        let words = ["restored", "migrated", "relaunched", "refused", "over", "damaged"]
        print(words.map { "\($0): \(counts[$0] ?? 0)" }.joined(separator: ", "))
        for page in damaged { print("page \(page) of the database is damaged") }
        if counts["refused"] != nil || !isWhole || !damaged.isEmpty { throw ExitCode(1) }
    }
}

extension Fate {
    fileprivate var words: (String, String) {
        switch self {
        case .restored: ("restored", "")
        case .migrated(let version): ("migrated", "from version \(version)")
        case .relaunched(let reason): ("relaunched", reason)
        case .refused(let reason): ("refused", reason)
        case .over: ("over", "")
        }
    }
}
