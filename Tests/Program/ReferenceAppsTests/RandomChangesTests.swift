import Coordinators
import CoordinatorsTesting
import JSONCoding
import ReferenceApps
@testable import Sessions
import Synchronization
import TestSupport
import Testing

/// Sessions of all apps, saved by apps that differ from these in random ways.
@Suite struct RandomChangesTests {
    static let apps = RandomWalkTests.apps

    @Test(arguments: apps.map(\.name), [1, 2, 3] as [UInt64])
    func `no change of an app breaks its sessions, and serving does what check reports`(
        name: String, seed: UInt64
    ) async throws {
        let app = try #require(RandomChangesTests.apps.first { $0.name == name })
        var numbers = Numbers64(seed: seed)
        var outcomes: [String: Int] = [:]
        for state in try await RandomChangesTests.states(of: app, seed: seed) {
            let saved = try JSON(parsing: state.encoded, maximumDepth: 512)
            for _ in 0..<4 {
                var old = saved
                old["version"] = .integer(app.version - 1)
                var changes: [SavedChange] = []
                for _ in 0..<Int.random(in: 1...3, using: &numbers) {
                    guard let change = SavedChange.random(in: old, using: &numbers) else { continue }
                    changes.append(change)
                    old = change.applied(to: old)
                }
                do {
                    let outcome = try await RandomChangesTests.check(old, of: app, from: state, changes, &numbers)
                    outcomes[outcome, default: 0] += 1
                } catch {
                    Issue.record("\(app.name) after \(changes): \(error): \(old)")
                    return
                }
            }
        }
        // Otherwise the changes would prove little.
        for outcome in ["migrated", "reduced"] { #expect(outcomes[outcome, default: 0] > 0, "\(outcomes)") }
    }

    /// Some states of a random walk.
    private static func states(of app: App, seed: UInt64) async throws -> [NavigationState] {
        let states = Mutex<(seen: Int, kept: [NavigationState])>((0, []))
        try await RandomWalk(app, seed: seed, count: 240, expecting: [Numbers.Failure.self]).run { _, result in
            states.withLock { states in
                states.seen += 1
                if states.seen % 6 == 0 { states.kept.append(result.state) }
            }
            return nil
        }
        return states.withLock(\.kept)
    }

    /// - Returns: what happened to the session.
    private static func check(
        _ saved: JSON, of app: App, from state: NavigationState, _ changes: [SavedChange],
        _ numbers: inout Numbers64
    ) async throws -> String {
        let served = try await serve(saved, of: app)
        let restoration: Restoration
        do throws(RestoreError) {
            restoration = try app.restore(saved)
        } catch .nothingLeft {
            guard served.plan == "relaunched" else { throw Fault("nothing is left, but it is \(served.plan)") }
            return served.plan
        } catch {
            throw Fault("cannot be restored: \(error)")
        }

        var run = restoration.transition(at: CoordinatorTester.someTime)
        let result = try await run.result()
        try result.state.checkInvariants()
        guard served.state == result.state else { throw Fault("served in another state") }
        let expected = restoration.losses.isEmpty ? "migrated" : "reduced"
        guard served.plan == expected else { throw Fault("\(served.plan) instead of \(expected)") }
        if changes.allSatisfy({ !$0.changesDrawing }), let fault = PlainClient.fault(state, result) {
            throw Fault(fault)
        }

        let again = try app.restore(try JSON(parsing: result.state.encoded, maximumDepth: 512))
        guard again.losses.isEmpty, !again.needsTransition, again.state == result.state else {
            throw Fault("restored again, it is another session")
        }
        try await goOn(result.state, of: app, &numbers)
        return served.plan
    }

    /// What `check` says of the session, and the state in which a server serves it; `nil` if it does not.
    private static func serve(_ saved: JSON, of app: App) async throws -> (plan: String, state: NavigationState?) {
        let birth = MemoryStore()
        let created = try await SessionHost(apps: [app], store: birth).create()
        let record = try #require(try birth.load(created.id, token: nil)).record
        var line = try JSON(parsing: record.encoded.text, maximumDepth: 512)
        line["state"] = saved
        let old = try SessionRecord(parsing: Array(line.description.utf8))

        let store = MemoryStore()
        _ = try store.commit([SessionChange(id: old.id, expected: .none, record: old.encoded)]).get()
        let host = SessionHost(apps: [app], store: store)
        // The outcome of an effect would change the state that is compared.
        _ = host.effects.close()
        let plan = host.restorePlan(for: old)
        let session: AuthorizedSession
        do {
            session = try await host.session(created.id, token: created.token.text)
        } catch {
            guard case .refused = plan else { throw Fault("check says \(plan), but it is refused: \(error)") }
            return (plan.words.name, nil)
        }
        let state = try session.state()
        switch plan {
        case .restored, .over, .refused: throw Fault("check says \(plan) of a changed session")
        case .migrated: break
        case .reduced(let losses):
            // What is reported is gone.
            let names = Set(state.navigation.coordinators.map(\.name))
            for case .coordinator(let name, _?) in losses where names.contains(name) && name.hasPrefix("old-") {
                throw Fault("\(name) lives on")
            }
        case .relaunched:
            guard state.version == 2, state.navigation.coordinators.count > 0 else { throw Fault("not relaunched") }
        }
        return (plan.words.name, state.navigation)
    }

    /// Posts some events. Handlers may fail, as they may miss what was removed.
    private static func goOn(
        _ restored: NavigationState, of app: App, _ numbers: inout Numbers64
    ) async throws {
        var state = restored
        for _ in 0..<6 {
            guard let type = state.acceptedEvents.randomElement(using: &numbers) else { return }
            var payload = state.payloadsToTry(of: type).randomElement(using: &numbers) ?? nil
            if type == "answer" { payload = state.alert.map { ["button": .string($0.alert.buttons[0].id)] } }
            do {
                state = try await app.apply(
                    PostedEvent(type, payload: payload), to: state, at: CoordinatorTester.someTime
                ).state
            } catch .invariantViolated(let violation) {
                throw Fault("“\(type)” then breaks an invariant: \(violation)")
            } catch .runawayTransition {
                throw Fault("“\(type)” then does not end")
            } catch {}
            try state.checkInvariants()
        }
    }

    private struct Fault: Error, CustomStringConvertible {
        let description: String
        init(_ description: String) { self.description = description }
    }
}

/// A difference between the app that has saved a session and the one that restores it.
private enum SavedChange {
    case coordinator(String)
    case screen(String)
    case event(String)
    case tab(String)
    case missingMember(String, of: String)
    case otherMember(String, of: String)
    case newMember(of: String)
    case missingParameter(String)
    case unknownShared
    case unknownLink

    /// Whether the client drew something else than what the session now says it drew.
    var changesDrawing: Bool {
        switch self {
        case .screen, .event, .tab, .missingParameter: true
        default: false
        }
    }

    static func random(in saved: JSON, using numbers: inout Numbers64) -> SavedChange? {
        let coordinators = saved["coordinators"]?.array ?? []
        let coordinator = coordinators.randomElement(using: &numbers)
        let name = coordinator?["name"]?.string ?? ""
        let member = coordinator?["state"]?.object?.names.randomElement(using: &numbers)
        var found = Found()
        found.visit(saved)
        switch Int.random(in: 0..<12, using: &numbers) {
        case 0, 1: return .coordinator(name)
        case 2: return found.screens.randomElement(using: &numbers).map { .screen($0) }
        case 3, 4: return found.events.randomElement(using: &numbers).map { .event($0) }
        case 5: return found.tabs.randomElement(using: &numbers).map { .tab($0) }
        case 6: return member.map { .missingMember($0, of: name) }
        case 7: return member.map { .otherMember($0, of: name) }
        case 8: return .newMember(of: name)
        case 9: return found.params.randomElement(using: &numbers).map { .missingParameter($0) }
        case 10: return .unknownShared
        default: return .unknownLink
        }
    }

    /// What the older app would have saved.
    func applied(to saved: JSON) -> JSON {
        var saved = saved
        switch self {
        case .unknownShared:
            var shared = saved["shared"]?.object ?? [:]
            shared["old"] = ["x": 1]
            saved["shared"] = .object(shared)
            return saved
        case .unknownLink:
            guard let root = saved["coordinators"]?.array?.first?["id"] else { return saved }
            saved["pendingLink"] = ["path": "/old/%FF", "coordinator": root]
            return saved
        default: return saved.rewritten(rewrite)
        }
    }

    private func rewrite(_ object: JSONObject) -> JSONObject {
        var object = object
        switch self {
        case .coordinator(let name) where object["name"]?.string == name && object["state"] != nil:
            object["name"] = .string("old-\(name)")
        case .screen(let name) where object["name"]?.string == name && object["key"] != nil:
            object["name"] = .string("old-\(name)")
        case .tab(let id) where object["id"]?.string == id && object["stack"] != nil:
            object["id"] = .string("old-\(id)")
        case .event(let name):
            if let events = object["events"]?.array, object["key"] != nil {
                object["events"] = .array(events.map { $0.string == name ? .string("old-\(name)") : $0 })
            }
            if object["event"]?.string == name { object["event"] = .string("old-\(name)") }
            if var event = object["event"]?.object, event["name"]?.string == name {
                event["name"] = .string("old-\(name)")
                object["event"] = .object(event)
            }
        case .missingMember(let member, let name), .otherMember(let member, let name):
            guard object["name"]?.string == name, var state = object["state"]?.object else { break }
            state[member] = nil
            if case .otherMember = self { state[member] = ["other": []] }
            object["state"] = .object(state)
        case .newMember(let name):
            guard object["name"]?.string == name, var state = object["state"]?.object else { break }
            state["old member"] = [1, "x", .null]
            object["state"] = .object(state)
        case .missingParameter(let param):
            guard object["key"] != nil, var params = object["params"]?.object else { break }
            params[param] = nil
            object["params"] = .object(params)
        default: break
        }
        return object
    }

    /// The names that occur in a saved session.
    private struct Found {
        var screens: [String] = []
        var events: [String] = []
        var tabs: [String] = []
        var params: [String] = []

        mutating func visit(_ json: JSON) {
            for value in json.array ?? [] { visit(value) }
            guard let object = json.object else { return }
            if object["key"] != nil, let name = object["name"]?.string { screens.append(name) }
            if object["key"] != nil, let params = object["params"]?.object { self.params += params.names }
            if object["key"] != nil { events += object["events"]?.array?.compactMap(\.string) ?? [] }
            if let event = object["event"]?.string ?? object["event"]?["name"]?.string { events.append(event) }
            if object["stack"] != nil, let id = object["id"]?.string { tabs.append(id) }
            for member in object.members { visit(member.value) }
        }
    }
}

extension JSON {
    fileprivate func rewritten(_ rewrite: (JSONObject) -> JSONObject) -> JSON {
        switch self {
        case .array(let values): .array(values.map { $0.rewritten(rewrite) })
        case .object(let object):
            .object(rewrite(JSONObject(object.members.map { ($0.name, $0.value.rewritten(rewrite)) })))
        default: self
        }
    }
}

/// The same numbers from the same seed: a linear congruential generator of Knuth's.
private struct Numbers64: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return state ^ (state >> 33)
    }
}
