import Coordinators
import Foundation
import JSONCoding
import SQLiteStore
import Sessions
import Simulation
import Sodium

/// Sessions under way in a host: takes moves, and has the judge look at what they have led to.
///
/// Unchecked: used on the walk's thread only.
final class SessionWalk: @unchecked Sendable {
    /// A token that a device has had, and what it was sent last.
    struct Holding {
        let token: String
        var screen: String?
        var alert: String?
    }

    /// A pairing code that a device was given.
    struct Code {
        let text: String
        let session: SessionID
        /// The token of the device that asked for it.
        let issuer: String
        /// The role that the device gets that uses it: `.some(nil)` if it chooses, `nil` if that is not known.
        let role: String??
        let expiresAt: Date
        /// Whether it was used, or another took its place, or the server has forgotten it.
        var isSpent = false
        /// The key of the request that has used it.
        var key: String?
        /// Whether nobody knows if it was used.
        var isDoubtful = false
    }

    /// A stream.
    struct Viewer {
        let watch: Watch
        let session: SessionID
        let token: String
        /// The version that it has seen.
        var seen: Int
    }

    let setup: SessionSetup
    let scheduler: Scheduler
    let table: Table
    let ledger: Ledger
    /// The edition that runs.
    private(set) var app: App
    private let files: StoreFiles?
    private let dice: Dice
    private(set) var store: SteeredStore
    private(set) var host: SessionHost
    private var loops: [Task<Void, Never>] = []

    private(set) var holdings: [SessionID: [Holding]] = [:]
    private(set) var codes: [Code] = []
    private(set) var viewers: [Viewer] = []
    /// Requests that wait for a change.
    private(set) var waiting: [Request] = []
    /// Requests with keys, as they were sent.
    private var repeatable: [Call] = []
    private var requestCount = 0
    private(set) var keyCount = 0
    /// Since when nothing keeps timers and effects from going on.
    private(set) var calmSince = 0
    private(set) var isFailing = false
    /// What the ledger had when the last backup was made.
    private var backup: [Ledger.Mark]?
    private(set) var outcome = ""
    private(set) var refusedCount = 0
    private var states: [SessionID: (version: Int, state: NavigationState)] = [:]

    init?(_ setup: SessionSetup, _ scheduler: Scheduler, _ table: Table) {
        (self.setup, self.scheduler, self.table) = (setup, scheduler, table)
        app = .anything(setup.app, .first)
        let retention = Retention(
            versions: setup.versions, answers: setup.answers, versionBytes: setup.versionBytes,
            answerBytes: setup.answerBytes)
        ledger = Ledger(retention)
        let dice = Dice(seed: setup.dice)
        self.dice = dice
        let inner: any SessionStore
        switch setup.store {
        case .memory:
            files = nil
            let room = setup.room == 0 ? Int.max : setup.room
            inner = scheduler.wait {
                Sodium.$source.withValue(dice) { MemoryStore(retention: retention, limitBytes: room) }
            }
        case .sqlite:
            let files = StoreFiles(retention, room: setup.room, StoreSecret(dice.bytes(32)))
            guard let store = files.open() else { return nil }
            (self.files, inner) = (files, store)
        }
        store = SteeredStore(inner, isOutside: setup.store == .sqlite, scheduler, ledger)
        host = SessionHost(apps: [app], store: store)
        begin()
    }

    /// Starts a host on the store.
    private func begin() {
        var settings = SessionSettings()
        settings.idleLifetime = TimeInterval(setup.idle)
        settings.absoluteLifetime = TimeInterval(setup.absolute)
        settings.tombstoneLifetime = TimeInterval(setup.tombstone)
        settings.liveLimit = setup.live
        settings.eventRate = 1_000_000
        // Deadlines pass when the walk's time does.
        (settings.handlerDeadline, settings.effectDeadline) = (.seconds(1_000_000), .seconds(1_000_000))
        settings.observeDeadline = { [scheduler] pass in scheduler.wake(after: .seconds(30)) { pass() } }
        settings.surroundings.sleep = { [scheduler] in try await scheduler.sleep(for: $0) }
        settings.surroundings.random = { $0.lowerBound }
        settings.surroundings.effectExecutor = scheduler
        settings.surroundings.movesBlockingCalls = false
        let host = SessionHost(
            apps: [app], store: store, settings: settings, retention: ledger.retention,
            now: { [scheduler] in
                scheduler.now
            })
        self.host = host
        loops = [
            launch { await host.fireTimers() }, launch { await host.resumeEffects() },
            launch { await host.keepWatchedAlive() },
        ]
        calmSince = scheduler.time
        scheduler.run()
    }

    func close() {
        stop(kills: true)
        files?.remove(store.inner, scheduler)
    }

    // What the generator needs to know.

    var livingSessions: [Int] {
        ledger.accounts.indices.filter { index in
            let account = ledger.accounts[index]
            return !account.isForgotten && account.end(at: scheduler.now) == nil
        }
    }
    var living: Int { livingSessions.count }
    var hasWatches: Bool { !viewers.isEmpty }
    var hasRepeatable: Bool { !repeatable.isEmpty }
    var hasCodes: Bool { !codes.isEmpty }
    var hasBackup: Bool { backup != nil }

    /// The names of the app's roles, and of one that it does not have.
    private static let roles = Walk.devices.compactMap { $0.role?.name } + ["nobody"]

    private func account(_ number: Int?) -> Ledger.Account? {
        let accounts = ledger.accounts
        return accounts.isEmpty ? nil : accounts[abs(number ?? 0) % accounts.count]
    }

    func navigation(ofSession number: Int) -> NavigationState? { account(number).flatMap(navigation) }

    /// The last state of a session; `nil` if it is over.
    func navigation(of account: Ledger.Account) -> NavigationState? {
        let last = account.last
        if let known = states[account.id], known.version == last.number { return known.state }
        guard let state = SessionWalk.navigation(of: last, app) else { return nil }
        states[account.id] = (last.number, state)
        return state
    }

    static func navigation(of version: Ledger.Version, _ app: App) -> NavigationState? {
        version.record.savedState.flatMap { try? app.restore($0).state }
    }
}

// Moves.
extension SessionWalk {
    /// Takes a move.
    ///
    /// - Parameter checksAll: whether everything is read again.
    func take(_ move: Move, checksAll: Bool) -> [Finding] {
        outcome = ""
        scheduler.numbers = move.order.map { Numbers(seed: $0) }
        if move.isRequest {
            send(move)
        } else {
            happen(move)
        }
        if scheduler.isStuck { ledger.find(.alive, "the server runs in circles") }
        let judge = Judge(self)
        judge.judgeWork()
        judge.judgeWatches()
        if checksAll, !isFailing { judge.readAll() }
        let findings = ledger.findings + judge.findings
        ledger.findings = []
        var seen: Set<String> = []
        return findings.filter { seen.insert($0.kind).inserted }
    }

    /// What happens to the process, its store and its time.
    private func happen(_ move: Move) {
        switch move.verb {
        case .advance: scheduler.advance(by: abs(move.at ?? 250))
        case .leap:
            // The server stands still, and then has a second for everything.
            scheduler.advance(by: abs(move.at ?? 1000), leap: true)
            calmSince = scheduler.time
        case .sweep:
            let host = host
            run { _ = try? await host.sweep() }
        case .compact:
            if let store = store.inner as? SQLiteStore { scheduler.outside { try? await store.compact() } }
        case .fail:
            isFailing = true
            switch abs(move.at ?? 0) % 4 {
            case 0: store.failure = .full
            case 1: store.failure = .unavailable(reason: "it fails")
            case 2: store.failure = .unknownOutcome(reason: "it fails")
            default: (store.failure, store.failsToRead) = (.unavailable(reason: "it fails"), true)
            }
        case .heal:
            isFailing = false
            (store.failure, store.failsToRead) = (nil, false)
            calmSince = scheduler.time
        case .kill: restart(kills: true)
        case .restart: restart(kills: false)
        case .update:
            let editions = Edition.allCases
            table.edition = editions[abs(move.at ?? 0) % editions.count]
            app = .anything(setup.app, table.edition)
            states = [:]
            restart(kills: false)
        case .backUp: if files?.backUp() == true { backup = ledger.marks }
        case .goBack:
            if backup != nil { restart(from: .backup) }
        case .move: restart(from: .export)
        case .finish: finish()
        case .unwatch:
            if !viewers.isEmpty { viewers.remove(at: abs(move.at ?? 0) % viewers.count).watch.cancel() }
        default: break
        }
        scheduler.run()
        outcome = "-"
    }

    /// Lets everything come to its end, then begins again.
    private func finish() {
        isFailing = false
        (store.failure, store.failsToRead) = (nil, false)
        calmSince = scheduler.time
        let before = ledger.accounts.map { $0.versions.last?.effects ?? [] }
        // Longer than two attempts of an effect that hangs, and six of its outcome.
        let overloads = table.overloads
        scheduler.advance(by: 130_000)
        // What is refused for lack of capacity is tried for as long as the server runs.
        if setup.room == 0, table.overloads == overloads {
            for (account, effects) in zip(ledger.accounts, before) where !account.isForgotten {
                guard account.end(at: scheduler.now) == nil, navigation(of: account) != nil else { continue }
                if !account.last.effects.isDisjoint(with: effects) {
                    ledger.find(.once, "an effect has no outcome", account.name)
                }
            }
        }
        restart(kills: true)
    }

    /// Carries out what ends when the jobs have run.
    private func run(_ body: @escaping @Sendable () async -> Void) {
        launch(body)
        scheduler.run()
    }

    /// Begins a task of the walk.
    @discardableResult
    private func launch(
        of request: Int? = nil, _ body: @escaping @Sendable () async -> Void
    ) -> Task<Void, Never> {
        let dice = dice
        return Task {
            await Sodium.$source.withValue(dice) {
                await Ledger.$request.withValue(request) { await body() }
            }
        }
    }

    private func send(_ request: Request) {
        let (host, scheduler) = (host, scheduler)
        launch(of: request.number) { request.response = await host.carryOut(request.call, scheduler) }
    }

    /// Sends a request and what is sent beside it, and judges the answers.
    private func send(_ move: Move) {
        let requests = ([move] + (move.with ?? [])).compactMap(request)
        guard !requests.isEmpty else { return outcome = "-" }
        store.fates = move.fates ?? []
        for request in requests { send(request) }
        if let cut = move.cut {
            scheduler.run(atMost: cut)
            let answered = requests.map { $0.response }
            restart(kills: true)
            for (request, response) in zip(requests, answered) { request.response = response }
        } else {
            scheduler.run()
        }
        let isTroubled = isFailing || move.cut != nil || move.fates != nil
        if move.fates != nil { calmSince = scheduler.time }
        store.fates = []
        outcome = requests.map { $0.response?.word ?? "waits" }.joined(separator: ", ")
        refusedCount += requests.count { $0.response?.error != nil }
        let judge = Judge(self)
        let codesBefore = codes.count
        for request in requests {
            judge.judge(request, isAlone: requests.count == 1 && !isTroubled, isTroubled: isTroubled)
            learn(request, isCut: move.cut != nil)
        }
        // Nobody knows which of several was the last one.
        if codes.count > codesBefore + 1 { for index in codesBefore..<codes.count { codes[index].isDoubtful = true } }
        ledger.findings += judge.findings
    }

    /// The request that a move stands for; `nil` if there is none.
    private func request(_ move: Move) -> Request? {
        guard let call = call(move) else { return nil }
        requestCount += 1
        if call.key != nil, move.verb != .repeated { repeatable.append(call) }
        let version = call.session.flatMap { ledger[$0] }.map(\.last.number) ?? 0
        return Request(requestCount, call, begin: version)
    }

    /// Long ones cannot be guessed, so that tokens and codes are derived from them.
    private func key(_ number: Int?) -> String? {
        guard let number else { return nil }
        keyCount = max(keyCount, number + 1)
        return number % 3 == 2 ? "k\(number)" : "a key that nobody guesses \(number)"
    }

    private func call(_ move: Move) -> Call? {
        let at = abs(move.at ?? 0)
        if move.verb == .create {
            let link = [nil, "/root/0", "/nowhere/0"][abs(move.to ?? 0) % 3]
            return .create(link: link, Walk.devices[at % 2].client, key: key(move.key))
        }
        if move.verb == .repeated {
            // The latest are the most interesting ones.
            guard !repeatable.isEmpty else { return nil }
            let call = repeatable[max(0, repeatable.count - 1 - at)]
            return move.to == 1 ? call.altered : call
        }
        if move.verb == .pair {
            guard !codes.isEmpty else { return nil }
            let (code, device) = (codes[max(0, codes.count - 1 - at % 4)], Walk.devices[abs(move.to ?? 1) % 3])
            let role = abs(move.to ?? 0) < 3 ? nil : device.role?.name
            return .pair(code: code.text, code.session, device.client, role: role, key: key(move.key))
        }
        guard let account = account(move.session) else { return nil }
        let id = account.id
        if move.verb == .signal || move.verb == .signalUser {
            let names = navigation(of: account).map { Plain($0).names } ?? []
            let node = names.isEmpty ? "" : names[at % names.count]
            let script = table.number(of: move.step?.script)
            let signal = PostedEvent("ping", payload: ["to": .string(node), "script": .integer(script)])
            guard let key = key(move.key ?? 0) else { return nil }
            return move.verb == .signal
                ? .signal(id, signal, key: key) : .signalUser("user\(at % 3)", signal, key: key)
        }
        guard let held = holdings[id], !held.isEmpty else { return nil }
        let identity = account.last.record.identity
        let holding =
            move.device.map { held[abs($0) % held.count] } ?? held.last { identity.opens($0.token) } ?? held[0]
        let token = holding.token
        let version = max(0, account.last.number - abs(move.to ?? 0))
        let condition = move.condition.map { back in
            VersionCondition.oneOf([VersionTag(account.last.number - abs(back), generation: store.generation)])
        }
        switch move.verb {
        case .event, .preview:
            guard let state = navigation(of: account) else { return .read(id, token: token) }
            let step = move.step ?? Step(.go)
            let shown = (holding.screen, holding.alert)
            guard let event = step.event(on: state, Plain(state), table, shown: shown) else { return nil }
            return move.verb == .event
                ? .event(id, token: token, event, condition, key: key(move.key))
                : .preview(id, token: token, event, condition)
        case .content:
            let screens = navigation(of: account).map(\.screens) ?? []
            return .content(id, token: token, key: screens.isEmpty ? "k0" : screens[at % screens.count].key)
        case .wait:
            let known = VersionTag(account.last.number - at % 2, generation: store.generation)
            return .wait(id, token: token, known, until: scheduler.time + 1000 * (1 + at))
        case .watch: return .watch(id, token: token)
        case .withdraw: return key(move.key ?? 0).map { .withdraw(id, token: token, key: $0) }
        case .outcome: return key(move.key ?? 0).map { .outcome(id, token: token, key: $0) }
        case .openPairing:
            let role = move.to.map { SessionWalk.roles[abs($0) % 4] }
            return .openPairing(id, token: token, label: at % 2 == 0 ? "phone" : nil, role: role)
        case .revoke: return .revoke(id, token: token, number: 1 + at % 4, condition)
        case .history: return .history(id, token: token, from: at % 2 == 0 ? nil : version)
        case .past: return .past(id, token: token, version)
        case .fork: return .fork(id, token: token, at % 2 == 0 ? nil : version, key: key(move.key))
        case .end: return .end(id, token: token, condition)
        default: return .read(id, token: token)
        }
    }

    /// What clients have learned from an answer.
    private func learn(_ request: Request, isCut: Bool) {
        guard let response = request.response else {
            if case .wait = request.call, !isCut { waiting.append(request) }
            return
        }
        let id = request.call.session
        switch response {
        case .outcome(let outcome):
            guard let id, let token = request.call.token else { return }
            if let new = outcome.token?.text, holdings[id]?.contains(where: { $0.token == new }) != true {
                holdings[id]?.append(Holding(token: new))
            }
            if let pairing = outcome.pairing, !outcome.isReplay, !isCut {
                add(
                    Code(
                        text: pairing.code.text, session: id, issuer: outcome.token?.text ?? token,
                        role: outcome.codeRole, expiresAt: pairing.expiresAt))
            }
            if case .applied(let applied) = outcome { show(applied.state, to: outcome.token?.text ?? token) }
        case .created(let created):
            if holdings[created.id]?.contains(where: { $0.token == created.token.text }) != true {
                holdings[created.id, default: []].append(Holding(token: created.token.text))
            }
            if case .pair(let code, _, _, _, let key) = request.call {
                for index in codes.indices where codes[index].text == code {
                    (codes[index].isSpent, codes[index].key) = (true, key)
                }
            }
        case .state(let state):
            if case .read = request.call, let token = request.call.token { show(state, to: token) }
        case .failed(.stale(let state)), .failed(.refused(_, let state)):
            if case .event = request.call, let token = request.call.token { show(state, to: token) }
        case .failed(.unknownOutcome):
            guard case .pair(let code, _, _, _, _) = request.call else { return }
            for index in codes.indices where codes[index].text == code { codes[index].isDoubtful = true }
        case .pairing(let pairing):
            guard case .openPairing(let id, let token, _, let role) = request.call, !isCut else { return }
            add(
                Code(
                    text: pairing.code.text, session: id, issuer: token, role: .some(role),
                    expiresAt: pairing.expiresAt))
        case .watching(let watch):
            // A stream ends with its server.
            guard let id, let token = request.call.token, !isCut else { return }
            viewers.append(Viewer(watch: watch, session: id, token: token, seen: 0))
        default: break
        }
    }

    private func add(_ code: Code) {
        for index in codes.indices where codes[index].issuer == code.issuer { codes[index].isSpent = true }
        codes.append(code)
    }

    private func show(_ state: SessionState, to token: String) {
        guard let index = holdings[state.id]?.firstIndex(where: { $0.token == token }) else { return }
        holdings[state.id]?[index].screen = state.navigation.visible?.key
        holdings[state.id]?[index].alert = state.navigation.alert?.key
    }

    /// Notes what a stream has shown.
    func note(seen version: Int, by viewer: Int) { viewers[viewer].seen = version }
    func removeViewer(_ index: Int) { viewers.remove(at: index).watch.cancel() }
    func removeWaiting(_ index: Int) { waiting.remove(at: index) }

    /// Asks the host at once, for a check.
    func ask(_ call: Call) -> Response? {
        requestCount += 1
        let request = Request(requestCount, call, begin: 0)
        send(request)
        scheduler.run()
        return request.response
    }
}

// The process.
extension SessionWalk {
    /// Ends the process, and lets what is left of it run out.
    private func stop(kills: Bool) {
        if kills { store.isDead = true }
        for viewer in viewers { viewer.watch.cancel() }
        for loop in loops { loop.cancel() }
        host.endWatching()
        (viewers, waiting) = ([], [])
        scheduler.numbers = nil
        scheduler.drain()
        store.isDead = true
    }

    /// Where the store of the next process comes from.
    enum Source { case files, backup, export }

    func restart(kills: Bool = false, from source: Source = .files) {
        stop(kills: kills)
        // Codes are in the memory of a server.
        for index in codes.indices { codes[index].isSpent = true }
        var inner = store.inner
        if let files {
            guard let opened = files.reopen(inner, kills: kills, from: source, scheduler) else {
                return ledger.find(.readable, "the store cannot be opened again")
            }
            inner = opened
        }
        if source == .export { for version in ledger.accounts.flatMap(\.versions) { version.noteMove() } }
        if source == .backup, let backup {
            ledger.goBack(to: backup)
            states = [:]
        }
        let (failure, failsToRead) = (store.failure, store.failsToRead)
        store = SteeredStore(inner, isOutside: setup.store == .sqlite, scheduler, ledger)
        (store.failure, store.failsToRead) = (failure, failsToRead)
        begin()
    }
}

/// The directories of a store in files.
final class StoreFiles {
    private let retention: Retention
    private let room: Int
    private let secret: StoreSecret?
    private let root: String
    private var number = 0

    init(_ retention: Retention, room: Int, _ secret: StoreSecret?) {
        (self.retention, self.room, self.secret) = (retention, room, secret)
        let base = FileManager.default.fileExists(atPath: "/dev/shm") ? "/dev/shm" : NSTemporaryDirectory()
        root = "\(base)/simulation-\(UUID().uuidString)"
    }

    private var path: String { "\(root)/\(number)" }

    func open() -> SQLiteStore? {
        try? FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
        return try? SQLiteStore(
            directory: path, retention: retention, sizeLimit: room, newSecret: secret, compactsWhenQuiet: false
        ) { _ in }
    }

    /// - Parameter kills: whether the files are left as the last commit has left them, as by a process that is killed.
    func reopen(
        _ store: any SessionStore, kills: Bool, from source: SessionWalk.Source, _ scheduler: Scheduler
    ) -> SQLiteStore? {
        if source != .files { return replace(store, from: source, scheduler) }
        let before = path
        if kills {
            number += 1
            try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            for name in (try? FileManager.default.contentsOfDirectory(atPath: before)) ?? [] where name != "lock" {
                try? FileManager.default.copyItem(atPath: "\(before)/\(name)", toPath: "\(path)/\(name)")
            }
        }
        scheduler.outside { await store.close() }
        if kills { try? FileManager.default.removeItem(atPath: before) }
        return open()
    }

    private var backup: String { "\(root)/backup" }

    /// - Returns: whether there is a backup now.
    func backUp() -> Bool {
        try? FileManager.default.removeItem(atPath: backup)
        guard let snapshot = try? StoreSnapshot(directory: path) else { return false }
        return (try? snapshot.copy(to: backup, as: .backup) { _, _ in }) != nil
    }

    /// Goes on with the backup, or with a new store that has got everything from this one.
    private func replace(
        _ store: any SessionStore, from source: SessionWalk.Source, _ scheduler: Scheduler
    ) -> SQLiteStore? {
        let before = path
        number += 1
        if source == .backup {
            try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            try? FileManager.default.copyItem(atPath: backup, toPath: "\(path)/sessions.sqlite")
        }
        guard let next = open() else { return nil }
        let isComplete = scheduler.outside {
            defer { try? FileManager.default.removeItem(atPath: before) }
            guard source == .export else {
                await store.close()
                return true
            }
            return await StoreFiles.move(before, to: next, closing: store)
        }
        return isComplete ? next : nil
    }

    private static func move(_ directory: String, to store: SQLiteStore, closing old: any SessionStore) async -> Bool {
        do {
            let snapshot = try StoreSnapshot(directory: directory)
            var last: SessionID?
            while true {
                let page = try snapshot.page(after: last)
                guard let end = page.sessions.last else { break }
                let sessions = try snapshot.contents(of: page.sessions[...]).compactMap { try $0.value.get() }
                _ = try await store.insert(sessions)
                last = end
            }
            await old.close()
            return true
        } catch {
            await old.close()
            return false
        }
    }

    func remove(_ store: any SessionStore, _ scheduler: Scheduler) {
        scheduler.outside { await store.close() }
        try? FileManager.default.removeItem(atPath: root)
    }
}

extension Outcome {
    /// The role that the pairing code gives which the event has asked for; `nil` if that is not known.
    fileprivate var codeRole: String?? {
        guard case .applied(let applied) = self, let request = applied.transition.pairingRequest else { return nil }
        return .some(request.role)
    }
}
