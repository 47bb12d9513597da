internal import ArgumentParser
internal import Glibc
internal import SQLiteStore
internal import Sessions

/// `check`: reports what this build would do with every stored session. Run it before a new build goes live; the old
/// one may be running.
struct CheckCommand<Server: NavigationServer>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "check",
            abstract: "Reports what this build would do with every stored session.",
            discussion: """
                Sessions are restored as they are, migrated from what an older version of the app saved, relaunched \
                with their defaults, or refused; “over” are those that have ended or expired. Damaged sessions are \
                marked, and reported on standard error; damaged pages of the store are listed. Exits 1 if any session \
                would be refused or anything is damaged.
                """)
    }

    @OptionGroup var stored: StoredOptions

    @Flag(help: "Gives the apps their development dependencies.")
    var development = false

    @Option(help: "The directory for the apps' own data. It is not created if it does not exist.")
    var dataDirectory = "data"

    func run() async throws {
        let isThere = access(dataDirectory, F_OK) == 0 || errno != ENOENT
        let apps = try Server.soundApps(
            AppOptions(isDevelopment: development, dataDirectory: isThere ? dataDirectory : nil))
        let host = SessionHost(apps: apps, store: MemoryStore())
        let snapshot = try stored.snapshot()
        // Damaged pages may contain older versions, and a session needs all of those as well.
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
                let (word, details) = host.restorePlan(for: record).words
                report(id, word, details)
            })
        let words = ["restored", "migrated", "relaunched", "refused", "over", "damaged"]
        print(words.map { "\($0): \(counts[$0] ?? 0)" }.joined(separator: ", "))
        for page in damaged { print("page \(page) of the database is damaged") }
        if counts["refused"] != nil || !isWhole || !damaged.isEmpty { throw ExitCode(1) }
    }
}
