internal import Prometheus
internal import Sessions

/// Events, and the lives of sessions.
enum SessionMetrics {
    static let all =
        [
            ServerMetric(
                "coordinatord_events_total", .counter, labels: ["app", "event", "outcome"],
                """
                Posted events, without dry runs. Outcomes: \(EventOutcome.allCases.map(\.label).joined(separator: ", ")). \
                What the app does not declare is “other”.
                """
            ) { figures in
                figures.host.measures.events?.counts.map {
                    MetricSample($0.app, $0.event, $0.outcome.label, value: $0.count)
                } ?? []
            },
            ServerMetric(
                "coordinatord_transition_duration_seconds", .histogram, labels: ["app", "coordinator"],
                """
                Time that the app takes for an event, without waiting for its turn and for the store. The coordinator \
                is the one that is called first, “none” if none is.
                """
            ) { figures in
                figures.host.measures.events?.durations.map {
                    MetricSample($0.app, $0.coordinator, value: $0.durations, perUnit: 1e9)
                } ?? []
            },
            ServerMetric(
                "coordinatord_late_calls", .gauge,
                """
                Calls of coordinators' functions that are still running after their deadline. Their requests were \
                answered 504.
                """
            ) { $0.host.lateCalls },
            ServerMetric("coordinatord_sessions_live", .gauge, "Sessions in memory.") { $0.host.liveFigures.sessions },
            ServerMetric(
                "coordinatord_sessions_live_bytes", .gauge, "About how much memory the sessions in memory take."
            ) { $0.host.liveFigures.bytes },
            ServerMetric(
                "coordinatord_sessions_stored", .gauge,
                "Sessions in the store, those included that have ended or expired and are still kept."
            ) { $0.host.store.sessionCount },
            ServerMetric("coordinatord_coordinators_live", .gauge, "Coordinators that live in the sessions in memory.")
            { $0.host.liveFigures.coordinators },
            ServerMetric(
                "coordinatord_watchers", .gauge, "Streams and requests that wait for a session to change."
            ) { $0.host.watcherCount },
        ]
        + happenings.map { happening, name, help in
            ServerMetric("coordinatord_\(name)_total", .counter, help) { $0.host.measures[happening] }
        }

    private static let happenings: [(SessionMeasures.Happening, name: String, help: String)] = [
        (.created, "sessions_created", "Created sessions, without forks."),
        (.forked, "sessions_forked", "Sessions that were created as a fork of another."),
        (.ended, "sessions_ended", "Sessions that were ended here, by their clients, apps or the operator."),
        (
            .removed, "sessions_removed",
            """
            Sessions that were deleted from the store, a while after they had ended or expired. What exceeds the ended \
            ones has expired.
            """
        ),
        (.loaded, "sessions_loaded", "Sessions that were read from the store into memory."),
        (.evicted, "sessions_evicted", "Sessions that left the memory because others needed the room."),
        (.reduced, "sessions_reduced", "Sessions that were restored without what no longer fits their app."),
        (
            .relaunched, "sessions_relaunched",
            "Sessions that were started anew, because nothing that was saved of them fits their app."
        ),
        (
            .replayed, "idempotent_replays",
            "Requests that were answered as before under their Idempotency-Key, and not carried out again."
        ),
        (
            .keyReused, "idempotency_conflicts",
            "Requests whose Idempotency-Key had been used for another request; they were refused."
        ),
    ]
}

extension EventOutcome {
    /// A stable name: not that of the case.
    fileprivate var label: String {
        switch self {
        case .applied: "applied"
        case .replayed: "replayed"
        case .refused: "refused"
        case .invalid: "invalid"
        case .stale: "stale"
        case .keyReused: "key-reused"
        case .limited: "limited"
        case .failed: "failed"
        case .late: "late"
        case .notStored: "not-stored"
        case .gone: "gone"
        }
    }
}
