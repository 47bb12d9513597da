import Coordinators
import Foundation
import JSONCoding
import Sessions
import Simulation
import Sodium

/// The rules for answers, and for what must have happened by itself. It compares with the ledger, which knows nothing
/// of the host.
final class Judge {
    private let walk: SessionWalk
    private var ledger: Ledger { walk.ledger }
    private var now: Date { walk.scheduler.now }
    private(set) var findings: [Finding] = []

    init(_ walk: SessionWalk) {
        self.walk = walk
    }

    private func find(_ rule: Rule, _ signature: String, _ reason: String = "") {
        findings.append(Finding(rule: rule, signature: signature, reason: reason.isEmpty ? signature : reason))
    }

    /// What a request has committed.
    private struct Made {
        var versions: [(account: Ledger.Account, version: Ledger.Version)] = []
        var answers: [(account: Ledger.Account, answer: StoredAnswer)] = []
    }

    private func made(by request: Request) -> Made {
        var made = Made()
        for account in ledger.accounts {
            for version in account.versions.reversed() where version.request == request.number {
                if !isRestoration(version, request) { made.versions.insert((account, version), at: 0) }
            }
            for (answer, maker) in account.answers where maker == request.number {
                made.answers.append((account, answer))
            }
        }
        return made
    }

    /// Whether a version was only made because a session that another edition has saved was loaded, whoever loaded it.
    private func isRestoration(_ version: Ledger.Version, _ request: Request) -> Bool {
        guard let event = version.record.event else { return false }
        if case .event(_, _, let posted, _, _) = request.call, posted.type == event { return false }
        return ["migrate", "restore", "relaunch"].contains(event)
    }

    /// - Parameters:
    ///   - isAlone: whether nothing else has happened meanwhile.
    ///   - isTroubled: whether the store or the process has failed meanwhile.
    func judge(_ request: Request, isAlone: Bool, isTroubled: Bool) {
        let made = made(by: request)
        let verb = request.call.verb
        guard let response = request.response else {
            if case .wait = request.call { return }
            if !isTroubled { find(.alive, "\(verb) gets no answer") }
            return
        }
        if isAlone { checkAccess(request, response) }
        switch response {
        case .failed(let error): judge(request, error, made, isAlone, isTroubled)
        case .outcome(let outcome): judge(request, outcome, made)
        case .created(let created): judge(request, created, made, isAlone)
        case .state(let state): judge(request, state, made, isAlone)
        case .preview(let applied): judge(request, preview: applied, made, isAlone)
        case .history(let entries): judge(request, entries)
        case .signals(let outcomes):
            for (id, outcome) in outcomes {
                guard case .success(let outcome) = outcome, let answer = outcome.kept else { continue }
                checkKept(answer, of: id, "signalUser")
            }
        case .nothing:
            if case .end(let id, _, _) = request.call, ledger[id]?.end(at: now) == nil {
                find(.kept, "a session was ended, and goes on")
            }
            if case .withdraw(let id, _, _) = request.call, let key = request.call.withdrawnKey,
                isAlone ? ledger[id]?.kept(key, walk.setup.answers) == nil : ledger[id]?.hasKept(key) != true
            {
                find(.kept, "a key was withdrawn, and that is not kept")
            }
        case .pairing, .watching, .content: break
        }
        if case .event = request.call { checkTransitions(made, request) }
        if isAlone { checkRole(request, response) }
        checkCondition(request, made, isAlone)
        checkUsers(request, made)
        checkReadOnly(request, made)
    }

    /// Nobody does what is not for its device, and a device gets the role that it was given.
    private func checkRole(_ request: Request, _ response: Response) {
        guard response.error == nil, let id = request.call.session, let account = ledger[id],
            let before = account.versions.last(where: { $0.number <= request.begin })?.record.identity
        else { return }
        let isKept = (request.call.withdrawnKey ?? request.call.keptKey).map { account.hasKept($0) } ?? false
        if !isKept, !allows(request.call, before) {
            find(.access, "\(request.call.verb): not for the role of the device")
        }
        guard case .pair(let text, _, _, let asked, _) = request.call, case .created(let created) = response,
            !created.outcome.isReplay, let code = walk.codes.last(where: { $0.text == text }), !code.isDoubtful,
            let fixed = code.role
        else { return }
        let given = role(of: created.token.text, account.last.record.identity)?.name
        let expected = fixed ?? asked ?? role(of: code.issuer, before)?.name
        if given != nil, given != expected {
            find(.access, "pair: another role", "\(given ?? "") instead of \(expected ?? "")")
        }
        if fixed == nil, let asked, role(of: code.issuer, before)?.mayGive(asked) == false {
            find(.access, "pair: a role that the device may not give")
        }
    }

    /// What is accepted with `If-Match` was done to the version that it names.
    private func checkCondition(_ request: Request, _ made: Made, _ isAlone: Bool) {
        guard case .oneOf(let tags)? = request.call.condition, let id = request.call.session, let account = ledger[id]
        else { return }
        let own = made.versions.filter { $0.account === account }.map(\.version)
        var number: Int?
        if case .event = request.call {
            // The end that an event asks for comes after it, perhaps after other events.
            number = own.first { !$0.record.isOver }.map { $0.number - 1 }
            if number == nil, case .outcome(let outcome)? = request.response, !outcome.isReplay {
                number = outcome.version
            }
        } else {
            // An end may have two, the second one after the clean-ups.
            let before = own.compactMap { version in account.versions.first { $0.number == version.number - 1 } }
            number = before.first { !$0.record.isOver }?.number
        }
        if case .preview? = request.response, isAlone { number = request.begin }
        if let number, !tags.contains(where: { $0.version == number }) {
            find(.order, "\(request.call.verb): done to another version than If-Match names")
        }
    }

    /// What concerns the sessions of a user reaches no session of anybody else.
    private func checkUsers(_ request: Request, _ made: Made) {
        let users: Set<String>
        var mayEndOthers = false
        switch request.call {
        case .signalUser(let user, _, _):
            users = [user]
            // A coordinator that receives the signal may do so.
            mayEndOthers = true
        case .event(let id, let token, let event, _, _):
            let own = made.versions.first { $0.account.id == id }?.version
            // If nothing has changed, the last version is the one before.
            let number = own.map { $0.number - 1 } ?? request.begin
            guard let before = ledger[id]?.versions.first(where: { $0.number == number }),
                case .success(let result)? = next(event, on: before, by: token, at: own?.time ?? now),
                // What its effects lead to is not told apart from it.
                !result.state.pending.contains(where: { $0.due == nil })
            else { return }
            users = Set(result.transition.sessionEndings.map(\.user))
        default: return
        }
        for (account, version) in made.versions
        where account.id != request.call.session && !(mayEndOthers && version.record.isOver) {
            let before = account.versions.first { $0.number == version.number - 1 }?.record.identity.user
            guard version.number > 1, before.map(users.contains) != true else { continue }
            find(
                .access, "\(request.call.verb): it reaches a session of another user",
                "\(account.name): of \(before ?? "nobody"), not \(users.sorted())")
        }
    }

    /// What only reads has committed nothing.
    private func checkReadOnly(_ request: Request, _ made: Made) {
        switch request.call {
        case .read, .content, .wait, .watch, .outcome, .openPairing, .history, .past, .preview:
            guard !made.versions.isEmpty || !made.answers.isEmpty, !endsSessions(request) else { return }
            find(.kept, "\(request.call.verb) has changed something")
        default: break
        }
    }

    /// Whether the request has ended the sessions that an event had not come to end.
    private func endsSessions(_ request: Request) -> Bool {
        guard case .outcome(let id, _, let text) = request.call, let account = ledger[id] else { return false }
        let key = SHA256Digest(of: text).hex
        let noted = account.endings.filter { $0.key == key }
        // If its own session has ended with them, nothing is noted.
        let isItself = noted.isEmpty && account.last.request == request.number
        return isItself || noted.contains { $0.request == request.number }
    }

    private func judge(
        _ request: Request, _ error: SessionError, _ made: Made, _ isAlone: Bool, _ isTroubled: Bool
    ) {
        let word = Response.word(of: error)
        switch error {
        case .unknownOutcome:
            if !isTroubled { find(.kept, "\(request.call.verb): unknown, though the store is sound", "\(error)") }
            return
        // The question is committed, not the event.
        case .refused(.answerFirst, _): return
        case .notApplied, .storageFull:
            if !isTroubled, walk.setup.room == 0, !waitsForSweep(request) {
                find(.kept, "\(request.call.verb): \(word), though the store is sound", "\(error)")
            }
        case .newerApp where walk.isNewer(request.call.session): break
        case .incompatible where !canBeShown(request): return
        case .damaged, .deadlineExceeded, .incompatible, .newerApp:
            find(.kept, "\(request.call.verb): \(word)", "\(error)")
        default: break
        }
        if isAlone { checkRefusal(request, error) }
        if !isTroubled, error == .unauthorized { checkReplacement(request) }
        // A fork that has to end with its origin is made, and ended.
        guard made.versions.isEmpty, made.answers.isEmpty else {
            return find(.kept, "\(request.call.verb): \(word) has changed something", "\(error)")
        }
    }

    /// Whether the present edition of the app has anything left of the version that is asked for.
    private func canBeShown(_ request: Request) -> Bool {
        let (id, number): (SessionID, Int?)
        switch request.call {
        case .past(let session, _, let version): (id, number) = (session, version)
        case .fork(let session, _, let version, _): (id, number) = (session, version)
        default: return true
        }
        let version = ledger[id]?.versions.first { $0.number == number }
        return version.map { SessionWalk.navigation(of: $0, walk.app) != nil } ?? true
    }

    /// A client may ask for an event's answer with the token that the event has replaced, also while it is carried out.
    private func checkReplacement(_ request: Request) {
        guard let token = request.call.token, let key = request.call.askedKey,
            let account = request.call.session.flatMap({ ledger[$0] }),
            account.end(at: now) == nil,
            let kept = account.kept(SHA256Digest(of: key).hex, walk.setup.answers), kept.body != nil,
            kept.replacedToken == SHA256Digest(of: token),
            request.call.key == nil || request.call.fingerprint == kept.fingerprint
        else { return }
        let after = account.versions.first { $0.number == kept.version }?.record.identity.tokens.map(\.digest)
        guard after == account.last.record.identity.tokens.map(\.digest) else { return }
        find(.once, "\(request.call.verb): unauthorized, though its event has replaced the token")
    }

    /// Whether the key of a creation has made a session that is not kept any longer, but not forgotten yet either.
    private func waitsForSweep(_ request: Request) -> Bool {
        switch request.call {
        case .create, .fork:
            ledger.accounts.contains { account in
                !account.isForgotten && account.last.record.keptUntil <= now
                    && account.answers.contains { $0.answer.key == request.call.keptKey }
            }
        default: false
        }
    }

    private func judge(_ request: Request, _ outcome: Outcome, _ made: Made) {
        guard let id = request.call.session, let account = ledger[id] else {
            return find(.kept, "an outcome without a session")
        }
        let verb = request.call.verb
        switch outcome {
        case .applied(let applied):
            let own = made.versions.filter { $0.account === account && !$0.version.record.isOver }.map(\.version)
            if let version = own.last {
                check(applied.state, is: version, of: account, verb)
            } else {
                check(applied.state, isOneSince: request.begin, of: account, verb)
            }
        case .answered(let answer, _, let replayedAt, _, _):
            if replayedAt == nil {
                guard made.answers.contains(where: { $0.answer == answer }) else {
                    return find(.kept, "\(verb): an answer that is not kept")
                }
            } else {
                if made.answers.contains(where: { $0.account === account }) {
                    find(.once, "\(verb): a replay keeps an answer")
                }
                if made.versions.contains(where: { $0.account === account && !$0.version.record.isOver }) {
                    find(.once, "\(verb): a replay makes a version")
                }
            }
            checkKept(answer, of: id, verb)
            if request.call.key != nil, answer.fingerprint != request.call.fingerprint {
                find(.once, "\(verb): the answer to another request")
            }
        }
    }

    private func checkKept(_ answer: StoredAnswer, of id: SessionID, _ verb: String) {
        let kept = ledger[id]?.answers.filter { $0.answer.key == answer.key }.map(\.answer) ?? []
        if kept.isEmpty { return find(.once, "\(verb): an answer of nobody") }
        // The body may be dropped.
        let isKept = kept.contains { $0.version == answer.version && (answer.body ?? $0.body) == $0.body }
        if !isKept { find(.once, "\(verb): another answer") }
    }

    private func judge(_ request: Request, _ created: CreatedSession, _ made: Made, _ isAlone: Bool) {
        let verb = request.call.verb
        guard let account = ledger[created.id] else { return find(.kept, "\(verb): a session that is not there") }
        let digest = SHA256Digest(of: created.token.text)
        if case .applied(let applied) = created.outcome {
            guard let version = made.versions.last(where: { $0.account === account })?.version else {
                return find(.kept, "\(verb): nothing is committed")
            }
            check(applied.state, is: version, of: account, verb)
        } else if let answer = created.outcome.kept {
            checkKept(answer, of: created.id, verb)
        }
        // A coordinator that is told of the device may revoke it.
        let isRevoked = verb == "pair" && walk.table.revokes
        if isAlone, !isRevoked, account.end(at: now) == nil, account.last.record.identity.access(of: digest) == nil {
            find(.access, "\(verb): a token that opens nothing")
        }
        guard case .fork(let id, let token, let version, _) = request.call, let origin = ledger[id],
            let first = made.versions.first(where: { $0.account === account })?.version, first.number == 1
        else { return }
        let source = origin.versions.last { $0.number == version ?? request.begin }
        let device = origin.last.record.identity.device(of: SHA256Digest(of: token), in: walk.app)
        let identity = first.record.identity
        if identity.origin != id { find(.kept, "fork: of another session") }
        if identity.createdAt != origin.last.record.identity.createdAt { find(.kept, "fork: another beginning") }
        if first.record.expiresAt != expiry(of: identity, usedAt: first.time) { find(.kept, "fork: another expiry") }
        // What happens meanwhile may come before it.
        let sources = origin.versions.filter { version == nil ? $0.number >= request.begin : $0.number == version }
        if !sources.isEmpty, !sources.contains(where: { $0.record.identity.user == identity.user }) {
            find(.access, "fork: another user")
        }
        // If coordinators are told of what another edition lacks, that leads further.
        guard request.begin == origin.last.number, let saved = source?.record.savedState,
            let restoration = try? walk.app.restore(saved), !restoration.needsTransition,
            let forked = try? walk.app.fork(of: restoration.state, for: device, at: first.time)
        else { return }
        if forked.encoded != first.text { find(.readable, "fork: another state") }
    }

    private func judge(_ request: Request, _ state: SessionState, _ made: Made, _ isAlone: Bool) {
        guard let account = ledger[state.id] else { return find(.kept, "a state without a session") }
        let verb = request.call.verb
        switch request.call {
        case .past(_, let token, let version):
            guard let kept = account.versions.first(where: { $0.number == version }) else {
                return find(.readable, "past: a version that never was")
            }
            check(state, is: kept, of: account, verb)
            let first = account.last.record.identity.access(of: SHA256Digest(of: token))?.firstVersion ?? 1
            if isAlone, version < first { find(.access, "past: a version from before the token") }
        case .revoke(_, _, let number, _):
            check(state, isOneSince: request.begin, of: account, verb)
            if isAlone, account.last.record.identity.tokens.contains(where: { $0.number == number }) {
                find(.access, "a token was revoked, and is there")
            }
        case .wait(_, let token, let known, let end):
            check(state, isOneSince: known.version, of: account, verb)
            checkDrawing(state, for: token, verb)
            if state.version == known.version, walk.scheduler.time < end { find(.watched, "a wait ends for nothing") }
        default:
            check(state, isOneSince: request.begin, of: account, verb)
            if case .read(_, let token) = request.call { checkDrawing(state, for: token, verb) }
            // An effect that began when the session was loaded may have ended since.
            let since = account.versions.filter { $0.number > state.version }.map { $0.cause ?? "end" }
            if isAlone, since.contains(where: { $0 != "effect" && $0 != "timer" }) {
                find(.kept, "\(verb): an old state", "\(account.name) version \(state.version), since then: \(since)")
            }
        }
    }

    private func judge(_ request: Request, preview applied: AppliedEvent, _ made: Made, _ isAlone: Bool) {
        guard isAlone, case .preview(let id, let token, let event, _) = request.call, let account = ledger[id],
            let next = next(event, on: account.last, by: token, at: now)
        else { return }
        switch next {
        case .success(let result):
            if result.state.encoded != applied.state.navigation.encoded { find(.dry, "a dry run says something else") }
        case .failure(let error): find(.dry, "a dry run accepts what is refused: \(Oracle.word(error))")
        }
    }

    private func judge(_ request: Request, _ entries: [HistoryEntry]) {
        guard case .history(let id, let token, let from) = request.call, let account = ledger[id] else { return }
        // Whatever has been committed meanwhile may be missing.
        let newest = entries.first?.version ?? min(from ?? request.begin, request.begin)
        if !(min(from ?? .max, request.begin)...min(from ?? .max, account.last.number)).contains(newest) {
            find(.readable, "a history that begins elsewhere", "\(newest)")
        }
        var expected = newest
        for entry in entries {
            if entry.version != expected {
                return find(.readable, "a history with a gap", "\(entry.version), \(expected)")
            }
            expected -= 1
            guard let version = account.versions.first(where: { $0.number == entry.version }) else {
                return find(.readable, "a history of what never was")
            }
            if version.record.note != entry.note { find(.readable, "a history that tells something else") }
        }
        let last = account.last
        // The token may be replaced, or earlier versions sealed, meanwhile.
        let first =
            account.versions.filter { $0.number >= request.begin }
            .compactMap { $0.record.identity.access(of: SHA256Digest(of: token))?.firstVersion }.min() ?? 1
        if let oldest = entries.last, oldest.version < first { find(.access, "a history from before the token") }
        let oldest = max(first, max(1, last.number - walk.setup.versions + 1))
        guard request.begin == last.number else { return }
        let kept = account.versions.filter { $0.number >= oldest - 15 }
        let bytes = kept.reduce(0) { $0 + $1.size }
        if bytes <= walk.setup.versionBytes, newest >= oldest, entries.count != newest - oldest + 1 {
            find(
                .readable, entries.count < newest - oldest + 1 ? "a history that lacks versions" : "a long history",
                "\(entries.count) of \(oldest) to \(newest)")
        }
    }

    // States.

    private func check(_ state: SessionState, is version: Ledger.Version, of account: Ledger.Account, _ verb: String) {
        if state.version != version.number { find(.kept, "\(verb): another version") }
        if state.navigation.encoded != version.text, !isShownOtherwise(state, version) {
            find(.readable, "\(verb): another state", "\(account.name) version \(version.number)")
        }
    }

    /// Whether another edition of the app has saved the version, and this one shows the state, or the state is drawn for
    /// another device than the one that it was saved for.
    private func isShownOtherwise(_ state: SessionState, _ version: Ledger.Version) -> Bool {
        guard version.record.appVersion != walk.app.version || state.drawing > 0 else { return false }
        let device = Device(state.drawing, role: state.navigation.role, state.navigation.client)
        return SessionWalk.navigation(of: version, walk.app).flatMap {
            state.drawing > 0 ? try? walk.app.drawing(of: $0, for: device) : $0
        }?.encoded == state.navigation.encoded
    }

    /// Each device sees the state as it is drawn for it.
    private func checkDrawing(_ state: SessionState, for token: String, _ verb: String) {
        let device = state.identity.device(of: SHA256Digest(of: token), in: walk.app)
        if let device, !state.navigation.isDrawn(for: device) {
            find(.readable, "\(verb): drawn for another device", "for \(device)")
        }
    }

    /// A refusal of a request that came alone names what is so.
    private func checkRefusal(_ request: Request, _ error: SessionError) {
        guard let id = request.call.session, let account = ledger[id] else { return }
        // The key of a fork is that of another session.
        if case .fork = request.call { return }
        guard let before = account.versions.last(where: { $0.number <= request.begin }),
            !account.versions.contains(where: { $0.request == request.number && isRestoration($0, request) })
        else { return }
        let tokens = before.record.identity.tokens
        let kept = request.call.keptKey.flatMap { account.kept($0, walk.setup.answers) }
        let fault: Bool
        switch error {
        case .tooManyTokens: fault = tokens.count < AccessToken.limit
        case .lastToken: fault = tokens.count > 1
        case .unknownToken:
            guard case .revoke(_, _, let number, _) = request.call else { return }
            fault = tokens.contains { $0.number == number }
        case .stale:
            guard case .oneOf(let tags)? = request.call.condition else {
                return find(.order, "stale without If-Match")
            }
            fault = tags.contains { $0.version == before.number && $0.generation == walk.store.generation }
        case .keyReused: fault = kept == nil || kept?.fingerprint == request.call.fingerprint
        case .keyWithdrawn: fault = kept == nil || kept?.body != nil
        case .answerForgotten:
            guard case .event = request.call else { return }
            fault = kept == nil
        case .unknownVersion:
            guard case .past(_, let token, let version) = request.call else { return }
            let first = before.record.identity.access(of: SHA256Digest(of: token))?.firstVersion ?? 1
            let isSmall = account.versions.reduce(0) { $0 + $1.size } <= walk.setup.versionBytes
            fault = isSmall && version >= first && version > before.number - walk.setup.versions
        case .refused(let refusal, _):
            guard case .event(_, let token, let event, _, _) = request.call else { return }
            if let kept, kept.fingerprint == request.call.fingerprint {
                return find(.once, "an event with a kept answer is refused")
            }
            switch next(event, on: before, by: token, at: now) {
            case .failure(let other)? where Oracle.word(other) == Oracle.word(refusal): return
            case nil: return
            default: fault = true
            }
        case .notForRole: fault = allows(request.call, before.record.identity)
        case .unknownRole: fault = false
        default: return
        }
        if fault { find(.kept, "\(request.call.verb): \(Response.word(of: error)), which is not so") }
    }

    /// Whether the role of the caller's device allows the request.
    private func allows(_ call: Call, _ identity: SessionIdentity) -> Bool {
        guard let token = call.token, let role = role(of: token, identity) else { return true }
        return switch call {
        case .withdraw: role.mayAct
        case .fork: role.mayEndOthers
        case .openPairing(_, _, _, let other): role.mayGive(other)
        case .revoke(_, _, let number, _):
            role.mayEndOthers || identity.access(of: SHA256Digest(of: token))?.number == number
        case .end: role.mayEndOthers || identity.tokens.count == 1
        default: true
        }
    }

    /// The role of a token's device: that of the first one if there was never another.
    private func role(of token: String, _ identity: SessionIdentity) -> DeviceRole? {
        let digest = SHA256Digest(of: token)
        guard identity.access(of: digest) != nil else { return nil }
        return identity.device(of: digest, in: walk.app)?.role ?? walk.app.role(nil)
    }

    private func check(
        _ state: SessionState, isOneSince begin: Int, of account: Ledger.Account, _ verb: String
    ) {
        guard let version = account.versions.last(where: { $0.number == state.version }) else {
            return find(.kept, "\(verb): a version that never was", "\(account.name) \(state.version)")
        }
        if state.version < begin { find(.kept, "\(verb): an old version") }
        check(state, is: version, of: account, verb)
        if state.identity != version.record.identity { find(.readable, "\(verb): another identity") }
        if state.expiresAt != version.record.expiresAt { find(.readable, "\(verb): another expiry") }
    }

    // What events lead to.

    private func next(
        _ event: PostedEvent, on version: Ledger.Version, by token: String, at time: Date
    ) -> Result<TransitionResult, NavigationError>? {
        guard let state = SessionWalk.navigation(of: version, walk.app) else { return nil }
        let identity = version.record.identity
        do throws(NavigationError) {
            var run = try walk.app.begin(
                event, on: state, at: time, by: identity.device(of: SHA256Digest(of: token), in: walk.app))
            if let result = try run.resultAtOnce() { return .success(result) }
            run.origin = walk.origin(of: identity, in: state, by: token)
            return walk.result(of: run)
        } catch {
            return .failure(error)
        }
    }

    /// Each version that an event has made is what the event leads to from the version before, whoever was faster.
    private func checkTransitions(_ made: Made, _ request: Request) {
        guard case .event(let id, let token, let event, _, _) = request.call else { return }
        for (account, version) in made.versions where account.id == id && version.cause == "event" {
            guard let before = account.versions.first(where: { $0.number == version.number - 1 }),
                !version.record.isOver, version.record.event == event.type
            else { continue }
            switch next(event, on: before, by: token, at: version.time) {
            case .success(let result)?:
                // What a device says about itself that only looks, is its own.
                let looks = role(of: token, before.record.identity)?.mayAct == false
                let expected = looks ? SessionWalk.navigation(of: before, walk.app)?.encoded : result.state.encoded
                if expected != version.text {
                    find(.order, "another state than the event leads to")
                }
                checkIdentity(version.record.identity, after: before.record.identity, result.transition, by: token)
                if result.transition.tokenRotation != nil,
                    version.record.identity.tokens.contains(where: { $0.firstVersion != version.number })
                {
                    find(.access, "a token that is left sees what was before the sign-in")
                }
            case .failure(let error)?: find(.order, "an event is applied that is refused: \(Oracle.word(error))")
            case nil: find(.readable, "a version cannot be restored")
            }
            if version.record.expiresAt != expiry(of: before.record.identity, usedAt: version.time) {
                find(.kept, "an event does not prolong the session's life")
            }
        }
    }

    private func expiry(of identity: SessionIdentity, usedAt time: Date) -> Date {
        let life = min(time + Double(walk.setup.idle), identity.createdAt + Double(walk.setup.absolute))
        return Date(timeIntervalSince1970: life.timeIntervalSince1970.rounded(.down))
    }

    /// An event changes the tokens and the user of its session as it has asked for, and not otherwise.
    private func checkIdentity(
        _ identity: SessionIdentity, after before: SessionIdentity, _ transition: Transition, by token: String
    ) {
        let caller = SHA256Digest(of: token)
        let new = identity.tokens.map(\.digest)
        // The last one is never revoked.
        var rest =
            transition.tokenRotation == .endingOthers ? before.tokens.filter { $0.digest == caller } : before.tokens
        for number in transition.revokedDevices where rest.count > 1 { rest.removeAll { $0.number == number } }
        let areRight =
            identity.tokens.map(\.number) == rest.map(\.number)
            && zip(rest.map(\.digest), new).allSatisfy { last, next in
                (last == next) == (last != caller || transition.tokenRotation == nil)
            } && (transition.tokenRotation == nil || !new.contains(where: { $0 == caller }))
        if !areRight { find(.access, "an event leaves other tokens than it asks for") }
        let user = transition.userChange.map(\.user) ?? before.user
        if identity.user != user { find(.access, "an event leaves another user than it signs in") }
    }

    // Access.

    /// Who may not use a session is told so, and nobody else.
    private func checkAccess(_ request: Request, _ response: Response) {
        let expected = barrier(request)
        guard let expected else { return }
        let actual = response.error.map(Response.word) ?? "let in"
        // What was done under the key comes first, also another request; a fork finds the session that it has made.
        let isReused = request.call.keptKey.map { key in ledger.accounts.contains { $0.hasKept(key) } } ?? false
        let ofFork = request.call.verb == "fork" ? ["ended", "expired", "answerForgotten"] : []
        if isReused, actual == "keyReused" || ofFork.contains(actual) { return }
        if !expected.contains(actual), !(expected.contains("let in") && !Judge.barriers.contains(actual)) {
            find(.access, "\(request.call.verb): \(actual), not \(expected[0])")
        }
    }

    private static let barriers: Set<String> = [
        "unauthorized", "ended", "expired", "unknownSession", "unknownCode", "tokenReplaced", "tokenRevoked",
    ]

    /// The words of the answers that the caller may get; `let in` for any but those of `barriers`; `nil` if that is not
    /// known.
    private func barrier(_ request: Request) -> [String]? {
        guard let id = request.call.session, let account = ledger[id] else { return nil }
        // As it was before the request.
        guard let version = account.versions.last(where: { $0.number <= request.begin }) else { return nil }
        let identity = version.record.identity
        let isGone = account.isForgotten || version.record.keptUntil <= now
        let end: String? =
            version.record.isEnd
            ? (version.record.hasExpired ? "expired" : "ended")
            : version.record.ending.map { $0 == .expired ? "expired" : "ended" }
                ?? (version.record.expiresAt.map { $0 <= now } == true ? "expired" : nil)
        switch request.call {
        case .signal, .signalUser:
            // The first answer to a signal is repeated as long as the session is in memory.
            if end == "expired", let key = request.call.keptKey, account.hasKept(key) { return nil }
            if isGone { return end.map { ["unknownSession", $0] } ?? ["unknownSession"] }
            return end.map { [$0] } ?? ["let in"]
        case .pair(let text, _, _, _, _):
            guard let code = walk.codes.last(where: { $0.text == text }) else { return nil }
            if code.isDoubtful { return nil }
            if code.isSpent {
                // The request that has used it may be sent again.
                let isAgain = request.call.key != nil && request.call.key == code.key
                return isAgain ? ["unknownCode", "let in"] : ["unknownCode", "tooManyTries"]
            }
            let isOpen = code.expiresAt > now && end == nil && identity.opens(code.issuer)
            return isOpen ? ["let in"] : ["unknownCode", "tooManyTries"]
        case .create: return nil
        default: break
        }
        guard let token = request.call.token else { return nil }
        guard identity.opens(token), !isGone || end != nil else {
            // Its last event may have replaced it.
            let key = request.call.askedKey ?? request.call.key
            return key == nil ? ["unauthorized"] : ["unauthorized", "let in", "answerForgotten"]
        }
        if isGone { return [end ?? "unauthorized", "unauthorized"] }
        return end.map { [$0] } ?? ["let in"]
    }

    // What happens by itself.

    /// Timers that are due have fired.
    func judgeWork() {
        // A store with little room may be full for good.
        guard !walk.isFailing, walk.setup.room == 0 else { return }
        let time = walk.scheduler.time
        for account in ledger.accounts where !account.isForgotten && account.end(at: now) == nil {
            let record = account.last.record
            guard
                let timer = record.work.filter({ $0.pending.due != nil }).min(by: {
                    ($0.pending.due ?? now, $0.pending.number) < ($1.pending.due ?? now, $1.pending.number)
                }), let due = timer.pending.due, let expiresAt = record.expiresAt, due < expiresAt
            else { continue }
            // After a failure of the store it is tried again within two seconds.
            let since = max(due.milliseconds, walk.calmSince + 1000, account.last.time.milliseconds)
            guard time - since > 1000, let state = walk.navigation(of: account) else { continue }
            // One that fails is tried again, later and later.
            guard case .success? = walk.result(of: .timer(timer.pending.number), on: state, account, showsErrors: false)
            else { continue }
            find(.once, "a timer is late", "\(account.name): \(time - since) ms")
        }
    }

    /// Streams have shown the last version, or say why they do not; requests that wait have ended.
    func judgeWatches() {
        for index in walk.viewers.indices.reversed() {
            let viewer = walk.viewers[index]
            guard let account = ledger[viewer.session] else { continue }
            guard let (update, end) = try? viewer.watch.current() else {
                find(.watched, "a stream cannot be drawn")
                continue
            }
            if let update {
                if end == nil { checkDrawing(update.state, for: viewer.token, "watch") }
                if update.state.version < viewer.seen { find(.watched, "a stream goes back") }
                check(update.state, isOneSince: 1, of: account, "watch")
                walk.note(seen: update.state.version, by: index)
            }
            if let fault = fault(of: viewer, account, update?.state.version ?? 0, end) {
                find(.watched, fault, account.name)
            }
            if end != nil { walk.removeViewer(index) }
        }
        for index in walk.waiting.indices.reversed() {
            let request = walk.waiting[index]
            guard case .wait(let id, _, let known, let end) = request.call else { continue }
            if request.response != nil {
                judge(request, isAlone: false, isTroubled: true)
                walk.removeWaiting(index)
            } else if let account = ledger[id], isKnown(account), account.last.number != known.version {
                find(.watched, "a wait goes on after a change")
                walk.removeWaiting(index)
            } else if walk.scheduler.time > end + 2500 {
                find(.alive, "a wait does not end")
                walk.removeWaiting(index)
            }
        }
    }

    /// Whether the host knows the last version; if not, it was committed without an answer.
    private func isKnown(_ account: Ledger.Account) -> Bool { account.last.isAnswered && !walk.isFailing }

    private func fault(of viewer: SessionWalk.Viewer, _ account: Ledger.Account, _ seen: Int, _ end: Watch.End?)
        -> String?
    {
        guard isKnown(account) else { return nil }
        let identity = account.last.record.identity
        let isOpen = identity.opens(viewer.token)
        let over = account.end(at: now)
        switch end {
        case nil:
            if !isOpen { return "a stream of a token that is over goes on" }
            if over == .ended || over == .expired { return "a stream of a session that is over goes on" }
            return seen == account.last.number ? nil : "a stream lacks the last version"
        case .ended?: return over == .ended ? nil : "a stream ends as if its session had ended"
        case .expired?: return over == .expired ? nil : "a stream ends as if its session had expired"
        case .tokenReplaced?, .tokenRevoked?: return isOpen ? "a stream ends as if its token were over" : nil
        }
    }

    /// Everything that is committed is read again, by everybody who may, and by nobody else.
    func readAll() {
        for account in ledger.accounts where !account.isForgotten {
            for holding in walk.holdings[account.id] ?? [] {
                let call = Call.read(account.id, token: holding.token)
                let request = Request(0, call, begin: account.last.number)
                request.response = walk.ask(call)
                judge(request, isAlone: true, isTroubled: false)
            }
            guard account.end(at: now) == nil,
                let holding = walk.holdings[account.id]?.first(where: {
                    account.last.record.identity.opens($0.token)
                })
            else { continue }
            let history = Call.history(account.id, token: holding.token, from: nil)
            let request = Request(0, history, begin: account.last.number)
            request.response = walk.ask(history)
            judge(request, isAlone: true, isTroubled: false)
        }
    }
}

extension SessionWalk {
    /// Whether a newer edition than the one that runs has saved the session.
    func isNewer(_ id: SessionID?) -> Bool {
        id.flatMap { ledger[$0]?.last.record.appVersion }.map { $0 > app.version } ?? true
    }

    /// The result of a transition, without the host.
    func result(of run: consuming TransitionRun) -> Result<TransitionResult, NavigationError> {
        let running = Running(run)
        Task {
            do throws(NavigationError) { running.result = .success(try await running.run.result()) } catch {
                running.result = .failure(error)
            }
        }
        scheduler.run()
        return running.result ?? .failure(.eventNotAccepted)
    }

    func result(
        of occurrence: Occurrence, on state: NavigationState, _ account: Ledger.Account, showsErrors: Bool = true
    ) -> Result<TransitionResult, NavigationError>? {
        do throws(NavigationError) {
            guard var run = try app.begin(occurrence, on: state, at: scheduler.now, showsErrors: showsErrors) else {
                return nil
            }
            run.origin = origin(of: account.last.record.identity, in: state)
            return result(of: run)
        } catch {
            return .failure(error)
        }
    }

    /// What handlers may learn of a transition that a token's device has brought about, or none.
    func origin(of identity: SessionIdentity, in state: NavigationState, by token: String? = nil) -> KnownOrigin {
        let devices = identity.devices(with: state, in: app)
        let acting = token.flatMap { token in identity.tokens.firstIndex { $0.digest == SHA256Digest(of: token) } }
        return KnownOrigin(
            session: identity.id.text, user: identity.user, device: acting.map { devices[$0] }, devices: devices)
    }

    /// Unchecked: used on the walk's thread only.
    private final class Running: @unchecked Sendable {
        var run: TransitionRun
        var result: Result<TransitionResult, NavigationError>?

        init(_ run: consuming TransitionRun) {
            self.run = run
        }
    }
}

extension SessionRecord {
    /// Whether the session is over.
    var isOver: Bool { isEnd || ending != nil }
}

extension SessionIdentity {
    func opens(_ token: String) -> Bool { access(of: SHA256Digest(of: token)) != nil }
}

extension Call {
    /// Its `If-Match`.
    var condition: VersionCondition? {
        switch self {
        case .event(_, _, _, let condition, _), .preview(_, _, _, let condition),
            .revoke(_, _, _, let condition), .end(_, _, let condition):
            condition
        default: nil
        }
    }

    /// Its name in findings.
    var verb: String { "\(self)".prefix { $0 != "(" }.description }

    /// The key of the event whose answer it wants, if that can give it a token.
    fileprivate var askedKey: String? {
        let key: String? =
            switch self {
            case .event(_, _, _, _, let key): key
            case .outcome(_, _, let key), .withdraw(_, _, let key): key
            default: nil
            }
        return key.flatMap { $0.utf8.count < RequestKey.leastSecretBytes ? nil : $0 }
    }

    /// How a key that is withdrawn is kept.
    var withdrawnKey: String? {
        if case .withdraw(_, _, let key) = self { SHA256Digest(of: key).hex } else { nil }
    }
}
