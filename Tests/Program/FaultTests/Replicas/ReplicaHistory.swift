import Foundation
import Synchronization

/// What clients saw of one session of `numbers` at several servers: checked for anything that one server alone could
/// not have done. Each event sets the number to a value of its own.
final class ReplicaHistory: Sendable {
    private struct Entry {
        let isEvent: Bool
        let version: Int
        let value: Int
        let start: ContinuousClock.Instant
        let end: ContinuousClock.Instant
        let isReplay: Bool
        let port: Int

        func described(since begin: ContinuousClock.Instant) -> String {
            let times = "\(start - begin) to \(end - begin)"
            return "\(isEvent ? isReplay ? "a replay" : "an event" : "a read") at port \(port) from \(times)"
        }
    }

    private let begin = ContinuousClock.now

    let id: String
    let token: String
    private let entries = Mutex<[Entry]>([])

    init(id: String, token: String) {
        self.id = id
        self.token = token
    }

    var path: String { "/v1/sessions/\(id)" }
    var eventCount: Int { entries.withLock { $0.count { $0.isEvent } } }

    /// - Parameters:
    ///   - value: of the event, or what was read.
    ///   - start: before the request was sent. For an event that was sent several times: the first time.
    func add(isEvent: Bool, version: Int, value: Int, since start: ContinuousClock.Instant, isReplay: Bool, port: Int) {
        let entry = Entry(
            isEvent: isEvent, version: version, value: value, start: start, end: .now, isReplay: isReplay, port: port)
        entries.withLock { $0.append(entry) }
    }

    /// Call when every event was acknowledged.
    ///
    /// - Parameter last: the session's version now.
    /// - Returns: the faults.
    func check(last: Int) -> [String] {
        let entries = entries.withLock { $0 }
        var faults: [String] = []
        let versions = entries.filter(\.isEvent).map(\.version).sorted()
        if versions != Array(2..<versions.count + 2) {
            let twice = Set(versions).count < versions.count
            faults.append("versions \(twice ? "that two events have made" : "with gaps") in \(id)")
        }
        if last != versions.count + 1 { faults.append("\(id) has version \(last) after \(versions.count) events") }
        var values: [Int: Entry] = [:]
        for entry in entries.sorted(by: { $0.isEvent && !$1.isEvent }) {
            let known = values[entry.version]
            if known == nil { values[entry.version] = entry }
            if let known, known.value != entry.value {
                faults.append(
                    """
                    version \(entry.version) of \(id) was \(known.value), \(known.described(since: begin)), and \
                    \(entry.value), \(entry.described(since: begin))
                    """)
            }
        }
        // What ended before another began comes before it.
        let byEnd = entries.sorted { $0.end < $1.end }
        var (newest, ended) = (0, 0)
        for entry in entries.sorted(by: { $0.start < $1.start }) {
            while ended < byEnd.count, byEnd[ended].end < entry.start {
                newest = max(newest, byEnd[ended].version)
                ended += 1
            }
            if entry.version < newest || entry.isEvent && entry.version == newest {
                faults.append("\(entry.isEvent ? "an event" : "a read") of \(id): \(entry.version) after \(newest)")
            }
        }
        return faults
    }
}
