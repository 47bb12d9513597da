import Coordinators
import Foundation
import JSONCoding
import Sessions
import Simulation
import Sodium

/// What has been committed, by the order of the commits alone: the plain model of a store.
///
/// Unchecked: used on the walk's thread only.
final class Ledger: @unchecked Sendable {
    /// A version, and how it came about.
    final class Version {
        let record: SessionRecord
        /// Bytes of the record.
        private(set) var size: Int
        /// The request that has made it; `nil` for the server itself.
        let request: Int?
        /// Whether whoever made it has learned of that.
        let isAnswered: Bool
        let time: Date
        /// The saved state as text; empty at the session's end.
        lazy var text: [UInt8] =
            record.savedState.map { state in
                JSONWriter.bytes(capacity: 1000) { state.write(to: &$0) }
            } ?? []

        init(_ record: SessionRecord, size: Int, request: Int?, isAnswered: Bool, time: Date) {
            (self.record, self.size, self.request) = (record, size, request)
            (self.isAnswered, self.time) = (isAnswered, time)
        }

        /// Another store has taken it over, as a full record.
        func noteMove() { size = max(size, text.count + 2000) }

        var cause: String? { record.note?.cause }
        var number: Int { record.version }
        var pending: Set<Int> { Set(record.work.map(\.pending.number)) }
        /// The effects and clean-ups under way.
        var effects: Set<Int> { Set(record.work.filter { $0.pending.due == nil }.map(\.pending.number)) }
    }

    /// A session.
    final class Account {
        let id: SessionID
        /// In the trace.
        let name: String
        var versions: [Version] = []
        /// In the order of their commits.
        var answers: [(answer: StoredAnswer, request: Int?)] = []
        /// The keys of events whose sessions have ended, and the requests that have noted that.
        var endings: [(key: String, request: Int?)] = []
        var isForgotten = false

        init(_ id: SessionID, _ name: String) {
            (self.id, self.name) = (id, name)
        }

        /// There is one from the first commit on.
        var last: Version { versions[versions.count - 1] }

        /// Why nobody may use the session any longer; `nil` if it goes on.
        func end(at now: Date) -> SessionError? {
            let record = last.record
            if record.isEnd { return record.hasExpired ? .expired : .ended }
            if let ending = record.ending { return ending == .expired ? .expired : .ended }
            return record.expiresAt.map { $0 <= now } == true ? .expired : nil
        }

        /// The answers that have to be kept.
        func kept(_ limit: Int) -> [StoredAnswer] {
            StoredAnswer.newest(limit, of: answers.reversed().map(\.answer)) { $0.key }
        }

        /// Whether an answer was ever kept under the key.
        func hasKept(_ key: String) -> Bool { answers.contains { $0.answer.key == key } }

        func kept(_ key: String, _ limit: Int) -> StoredAnswer? { kept(limit).first { $0.key == key } }
    }

    private(set) var accounts: [Account] = []
    private var places: [SessionID: Int] = [:]
    /// What does not hold, since this was last emptied.
    var findings: [Finding] = []
    let retention: Retention

    /// The request that the current task carries out.
    @TaskLocal static var request: Int?

    init(_ retention: Retention) {
        self.retention = retention
    }

    subscript(id: SessionID) -> Account? { places[id].map { accounts[$0] } }

    func find(_ rule: Rule, _ signature: String, _ reason: String = "") {
        findings.append(Finding(rule: rule, signature: signature, reason: reason.isEmpty ? signature : reason))
    }

    /// The store has been asked to make these changes, and has made those without a conflict.
    func note(_ changes: [SessionChange], _ conflicts: [SessionID], isAnswered: Bool, at now: Date) {
        for change in changes {
            let account = self[change.id]
            let current = account.map { $0.isForgotten ? 0 : $0.last.number } ?? 0
            let isConflict = conflicts.contains(change.id)
            if isConflict != (change.expected.version != current) {
                find(
                    .order, isConflict ? "a conflict with nobody" : "a commit from an old version",
                    "\(account?.name ?? "new"): from \(change.expected.version) to \(change.record?.version ?? 0), now \(current)"
                )
            }
            if !isConflict { keep(change, current, isAnswered, now) }
        }
    }

    private func keep(_ change: SessionChange, _ current: Int, _ isAnswered: Bool, _ now: Date) {
        let account = self[change.id] ?? add(change.id)
        // The key of its creation, which its id is derived from, may create another one.
        if account.isForgotten { (account.isForgotten, account.versions, account.answers) = (false, [], []) }
        if let answer = change.answer {
            let earlier = account.kept(answer.key, retention.answers)
            if let earlier, answer == earlier.withoutEndings, change.record == nil {
                account.answers.append((answer, nil))
                account.endings.append((answer.key, Ledger.request))
            } else {
                if earlier != nil { find(.once, "two commits under one key", "\(account.name) \(answer.key)") }
                account.answers.append((answer, Ledger.request))
                let version = change.record?.version ?? current
                if answer.version != version {
                    find(.order, "an answer of another version", "\(answer.version), \(version)")
                }
            }
        }
        guard let encoded = change.record else { return }
        let base = encoded.baseVersion.flatMap { base in account.versions.first { $0.number == base } }
        let record: SessionRecord
        do { record = try SessionRecord(parsing: encoded.text, base: base?.record) } catch {
            return find(.readable, "a record cannot be read", "\(account.name) version \(encoded.version): \(error)")
        }
        let isOwn = record.note?.cause != "effect" && record.note?.cause != "timer"
        let version = Version(
            record, size: encoded.text.count, request: isOwn ? Ledger.request : nil, isAnswered: isAnswered, time: now)
        if record.version != current + 1 { find(.order, "a version that does not follow", "\(record.version)") }
        if let before = account.versions.last { check(version, after: before, account) }
        account.versions.append(version)
    }

    private func add(_ id: SessionID) -> Account {
        let account = Account(id, "s\(accounts.count + 1)")
        places[id] = accounts.count
        accounts.append(account)
        return account
    }

    private func check(_ version: Version, after before: Version, _ account: Account) {
        if before.record.isEnd { find(.kept, "a session that has ended has another version") }
        if let older = before.record.appVersion, let newer = version.record.appVersion, newer < older {
            find(.kept, "an older build has changed a newer session")
        }
        if before.record.ending != nil, version.record.ending == nil, !version.record.isEnd {
            find(.kept, "a session that is over goes on")
        }
        guard let cause = version.cause, cause == "effect" || cause == "timer", !version.record.isOver else { return }
        let over = before.pending.subtracting(version.pending)
        let work = before.record.work.filter { over.contains($0.pending.number) }
        // What ends with it may go as well.
        if cause == "timer" {
            let due = work.compactMap(\.pending.due)
            if due.isEmpty { find(.once, "a timer fires that is not pending", account.name) }
            if let first = due.min(), first > version.time { find(.once, "a timer fires early", account.name) }
        } else if !work.contains(where: { $0.pending.since != nil }) {
            find(.once, "an effect has an outcome, and is not pending", account.name)
        }
        if let expiresAt = version.record.expiresAt, expiresAt != before.record.expiresAt {
            find(.kept, "the session's own work prolongs its life", account.name)
        }
    }

    /// How much there was of a session at some time.
    struct Mark {
        let versions: [Version]
        let answers: [(answer: StoredAnswer, request: Int?)]
        let isForgotten: Bool
    }

    var marks: [Mark] {
        accounts.map { Mark(versions: $0.versions, answers: $0.answers, isForgotten: $0.isForgotten) }
    }

    /// A backup of that time was restored: what came later is gone.
    func goBack(to marks: [Mark]) {
        for (index, account) in accounts.enumerated() {
            guard index < marks.count else {
                account.isForgotten = true
                continue
            }
            (account.versions, account.answers) = (marks[index].versions, marks[index].answers)
            account.isForgotten = marks[index].isForgotten
        }
    }

    /// The store has forgotten these sessions.
    func forget(_ ids: [SessionID], at now: Date) {
        for id in ids {
            guard let account = self[id] else { continue }
            if account.last.record.keptUntil > now { find(.kept, "a session is forgotten too early", account.name) }
            account.isForgotten = true
        }
    }
}

extension SessionRecord {
    /// The version of the app that saved the state; `nil` for the session's end.
    var appVersion: Int? { savedState?["version"]?.integer }
}
