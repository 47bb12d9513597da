internal import Dispatch
internal import Glibc
internal import SQLite
internal import Sessions
internal import Synchronization

/// Checks an open store: every second whether its files are still in place and can be written and whether the disk
/// answers, and every hour whether its pages are what was written.
final class StoreWatch: Sendable {
    private let directory: StoreDirectory
    private let writer: CommitQueue
    private let troubles: StoreTroubles
    private let checkQueue = DispatchQueue(label: "coordinatord.store.watch", qos: .utility)
    private let scanQueue = DispatchQueue(label: "coordinatord.store.scan", qos: .background)
    private let isClosed = Atomic(false)
    /// Seconds after which a commit that is still under way means that the disk does not answer. Behind a slow one, a
    /// commit waits for two flushes.
    private static let timeout = 10.0

    init(_ directory: StoreDirectory, _ writer: CommitQueue, _ troubles: StoreTroubles) {
        self.directory = directory
        self.writer = writer
        self.troubles = troubles
    }

    func begin() {
        schedule(on: checkQueue, after: .seconds(1)) { $0.check() }
        scanQueue.async { [weak self] in self?.scan() }
        schedule(on: scanQueue, after: .seconds(3600)) { $0.scan() }
    }

    private func schedule(
        on queue: DispatchQueue, after interval: DispatchTimeInterval, _ work: @escaping @Sendable (StoreWatch) -> Void
    ) {
        queue.asyncAfter(deadline: .now() + interval) { [weak self] in
            guard let self, !self.isClosed.load(ordering: .acquiring) else { return }
            work(self)
            self.schedule(on: queue, after: interval, work)
        }
    }

    /// Ends the checks: none runs after this returns.
    func close() async {
        isClosed.store(true, ordering: .releasing)
        for queue in [checkQueue, scanQueue] { await queue.run {} }
    }

    private func check() {
        if let file = directory.missingFile { return writer.fail(file) }
        // Until a commit or probe succeeds, which also ends it if this comes a moment late.
        if writer.waiting.seconds > StoreWatch.timeout {
            return troubles.fail("the disk has not completed a write for more than \(Int(StoreWatch.timeout)) seconds")
        }
        writer.probe { [directory] in directory.hasDiskRoom($0) }
    }

    private func scan() {
        directory.withDatabaseDescriptor { file in
            // At most 100 MiB a second, because others need the disk, too.
            func pause() -> Bool {
                usleep(10_000)
                return !isClosed.load(ordering: .acquiring)
            }
            PageChecksum.scan(file, pause: pause) { page in
                troubles.report(.derived("page \(page) of the database is damaged"))
            }
        }
    }
}
