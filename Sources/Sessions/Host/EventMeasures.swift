internal import Coordinators
public import Measures

/// How many events were posted, by app, type and outcome; and how long transitions took, by app and coordinator.
///
/// Only what the apps declare has a count of its own, so that no client can make this grow.
public final class EventMeasures: Sendable {
    private final class Measures: Sendable {
        let app: String
        /// Its declared events, the built-in ones, and `other`.
        let types: [String]
        /// Its coordinators, and `none`.
        let coordinators: [String]
        private let typeIndex: [String: Int]
        private let coordinatorIndex: [String: Int]
        let outcomes: Counts
        let durations: Distributions

        init(_ app: App) {
            self.app = app.name
            let declared = app.coordinators.flatMap(\.events).map(\.name)
            types = Measures.unique(declared + BuiltInEvent.allCases.map(\.rawValue)) + ["other"]
            coordinators = Measures.unique(app.coordinators.map(\.name)) + ["none"]
            typeIndex = Measures.index(types)
            coordinatorIndex = Measures.index(coordinators)
            outcomes = Counts(types.count * EventOutcome.allCases.count)
            durations = Distributions(coordinators.count, bounds: Distributions.durationBounds)
        }

        private static func unique(_ names: [String]) -> [String] {
            var known: Set<String> = []
            return names.filter { known.insert($0).inserted }
        }

        private static func index(_ names: [String]) -> [String: Int] {
            Dictionary(names.enumerated().map { ($1, $0) }) { first, _ in first }
        }

        func count(_ type: String, _ outcome: EventOutcome) {
            let row = typeIndex[type] ?? types.count - 1
            outcomes.add(at: row * EventOutcome.allCases.count + outcome.rawValue)
        }

        func add(_ duration: Int, to coordinator: String?) {
            durations.add(duration, at: coordinator.flatMap { coordinatorIndex[$0] } ?? coordinators.count - 1)
        }
    }

    private let apps: [String: Measures]

    init(_ apps: [App]) {
        self.apps = Dictionary(apps.map { ($0.name, Measures($0)) }) { first, _ in first }
    }

    func count(_ type: String, of app: String, _ outcome: EventOutcome) { apps[app]?.count(type, outcome) }

    /// - Parameters:
    ///   - duration: in nanoseconds.
    ///   - coordinator: the first that was called; `nil` if none was.
    func add(_ duration: Int, to coordinator: String?, of app: String) { apps[app]?.add(duration, to: coordinator) }

    private var sorted: [Measures] { apps.values.sorted { $0.app < $1.app } }

    /// The events that have been posted.
    public var counts: [(app: String, event: String, outcome: EventOutcome, count: Int)] {
        sorted.flatMap { measures in
            measures.types.enumerated().flatMap { row, type in
                EventOutcome.allCases.compactMap { outcome in
                    let count = measures.outcomes[row * EventOutcome.allCases.count + outcome.rawValue]
                    // So that the first failure is a change of what was 0.
                    return count == 0 && outcome != .failed ? nil : (measures.app, type, outcome, count)
                }
            }
        }
    }

    /// Of the coordinators that were called; in nanoseconds.
    public var durations: [(app: String, coordinator: String, durations: Distributions.Reading)] {
        sorted.flatMap { measures in
            measures.coordinators.enumerated().compactMap { index, coordinator in
                let reading = measures.durations.reading(at: index)
                return reading.count == 0 ? nil : (measures.app, coordinator, reading)
            }
        }
    }
}
