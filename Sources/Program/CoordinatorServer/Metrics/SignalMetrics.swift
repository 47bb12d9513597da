internal import Measures
internal import Prometheus
internal import Sessions

/// Effects, timers and the signals of other systems.
enum SignalMetrics {
    static let all = [
        ServerMetric("coordinatord_effects_running", .gauge, "Effects that this server performs now.") {
            $0.host.effectFigures.running
        },
        ServerMetric(
            "coordinatord_effects_waiting", .gauge,
            "Effects that wait until others have ended, see --effects, or until they are repeated."
        ) { $0.host.effectFigures.waiting },
        ServerMetric(
            "coordinatord_effects_total", .counter, labels: ["outcome"],
            """
            Effects that are over here: ended, with a signal or without one; failed, after the last attempt; discarded, \
            because the effect was cancelled or replaced, or its coordinator had ended, before its outcome was there.
            """
        ) { sample($0, [(.effectEnded, "ended"), (.effectFailed, "failed"), (.effectDiscarded, "discarded")]) },
        ServerMetric("coordinatord_effect_attempts_total", .counter, "Attempts of effects.") {
            $0.host.measures.signals[.effectAttempted]
        },
        ServerMetric(
            "coordinatord_effect_retries_total", .counter, "Attempts that failed, and were or will be repeated."
        ) { $0.host.measures.signals[.effectRepeated] },
        ServerMetric("coordinatord_timers_fired_total", .counter, "Timers whose signal was received.") {
            $0.host.measures.signals[.timerFired]
        },
        ServerMetric(
            "coordinatord_timer_lag_seconds", .histogram,
            "Time from when a timer was due until its transition was committed."
        ) { [MetricSample(value: $0.host.measures.signals.timerLags.reading(), perUnit: 1e9)] },
        ServerMetric(
            "coordinatord_signals_total", .counter, labels: ["outcome"],
            """
            Signals of other systems, one for each session: received; replayed, because it had been received under its \
            Idempotency-Key; refused.
            """
        ) { sample($0, [(.signalReceived, "received"), (.signalReplayed, "replayed"), (.signalRefused, "refused")]) },
        ServerMetric(
            "coordinatord_signals_dropped_total", .counter,
            "Effects and timers that were removed because their coordinator failed to receive the signal again and again."
        ) { $0.host.measures.signals[.dropped] },
    ]

    private static func sample(
        _ figures: ServerFigures, _ outcomes: [(SignalMeasures.Happening, String)]
    ) -> [MetricSample] {
        outcomes.map { MetricSample($1, value: figures.host.measures.signals[$0]) }
    }
}
