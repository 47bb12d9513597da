internal import Measures
internal import Prometheus
internal import Sessions

internal import PostgresStore

/// The store.
enum StoreMetrics {
    static let all = common + postgres

    private static let common = [
        ServerMetric("coordinatord_store_info", .gauge, labels: ["store"], "Always 1; the kind of store is a label.") {
            [MetricSample($0.host.store.name, value: 1)]
        },
        ServerMetric(
            "coordinatord_store_ready", .gauge, "Whether the store can commit: 1, or 0 with the reason in /readyz."
        ) { $0.host.store.condition.failure == nil ? 1 : 0 },
        ServerMetric("coordinatord_store_commit_changes", .histogram, "Changes that were committed together.") {
            $0.host.store.measures.map { [MetricSample(value: $0.batchSizes.reading(), perUnit: 1)] } ?? []
        },
        ServerMetric(
            "coordinatord_store_commit_duration_seconds", .histogram,
            "Time that such a commit takes, until it is as durable as the store promises."
        ) { $0.host.store.measures.map { [MetricSample(value: $0.commits.reading(), perUnit: 1e9)] } ?? [] },
        ServerMetric(
            "coordinatord_store_queue_length", .gauge, "Changes that wait to be committed, or are being committed."
        ) { $0.host.store.figures.waiting },
        ServerMetric(
            "coordinatord_store_queue_age_seconds", .gauge, "How long the first of them has been waiting."
        ) { $0.host.store.figures.longestWait.map { [MetricSample(value: $0)] } ?? [] },
        ServerMetric(
            "coordinatord_store_errors_total", .counter, labels: ["kind"],
            "What the store has refused: it was full, not available, its data damaged, or the outcome is not known."
        ) { figures in
            failures.map { MetricSample($1, value: figures.host.measures[$0]) }
        },
        ServerMetric(
            "coordinatord_store_bytes", .gauge, "Size of the store's file; of a store in memory, about its memory."
        ) { $0.host.store.figures.bytes },
        ServerMetric("coordinatord_store_log_bytes", .gauge, "Size of the file's write-ahead log.") {
            $0.host.store.figures.logBytes
        },
        ServerMetric(
            "coordinatord_store_uncompacted_rows", .gauge,
            "Rows of the journal that are to be compacted next. They are kept in memory, too."
        ) { $0.host.store.figures.uncompactedRows },
        ServerMetric("coordinatord_store_uncompacted_bytes", .gauge, "Bytes of their texts.") {
            $0.host.store.figures.uncompactedBytes
        },
    ]

    private static let failures: [(SessionMeasures.StoreFailure, String)] = [
        (.full, "full"), (.unavailable, "unavailable"), (.damaged, "damaged"), (.unknownOutcome, "unknown-outcome"),
    ]

    private static let postgres = [
        postgres("lanes", .gauge, "Connections that commit.") { Double($0.laneCount) },
        postgres("batches_total", .counter, "Committed batches.") { Double($0.counters.batches) },
        postgres(
            "conflicts_total", .counter, "Changes whose session another server had changed, or was changing."
        ) { Double($0.counters.conflicts) },
        postgres("retries_total", .counter, "Batches that were sent again.") { Double($0.counters.retries) },
        postgres(
            "unknown_outcomes_total", .counter, "Batches of which it was unknown for a while what became of them."
        ) { Double($0.counters.unknownOutcomes) },
        postgres(
            "lost_connections_total", .counter, "Connections to the database that were lost, or not made."
        ) { Double($0.counters.lostConnections) },
        postgres(
            "feed_lag_seconds", .gauge,
            "Time from a commit of any server until this one read of it, the last time that it read of one."
        ) { $0.counters.feedLag },
        postgres(
            "clock_offset_seconds", .gauge,
            "How much later the database's clock is than this machine's; not ready beyond 10 seconds."
        ) { $0.counters.clockOffset },
        postgres(
            "generation", .gauge, "1, and one more each time that another database server has taken over."
        ) { Double($0.generation) },
    ]

    private static func postgres(
        _ name: String, _ kind: MetricFamily.Kind, _ help: String,
        _ value: @escaping @Sendable (PostgresStore) -> Double
    ) -> ServerMetric {
        ServerMetric("coordinatord_postgres_\(name)", kind, help) { figures in
            (figures.host.store as? PostgresStore).map { [MetricSample(value: value($0))] } ?? []
        }
    }
}
