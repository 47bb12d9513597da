import Coordinators
import Foundation
import JSONCoding
import SQLite
import SQLiteStore
import Sessions
import Testing

/// Delta records contain what has changed since a base version. They read the same as full records would.
@Suite struct DeltaRecordTests {
    struct Desk: Coordinator {
        func start(_ navigator: inout Navigator) {
            navigator.push(Screen("desk"), tabs: [Tab("own", Screen("first")), Tab("pages", starting: Pages())])
        }
    }

    struct Pages: Coordinator {
        var turned = 0
        var notes: [String] = []
        enum Event: NavigationEvent, CaseIterable { case turn, note, cover, lock }

        func start(_ navigator: inout Navigator) { navigator.push(Screen("page")) }

        mutating func handle(_ event: Event, _ navigator: inout Navigator) {
            switch event {
            case .turn:
                turned += 1
                navigator.push(
                    Screen("page", title: "Page \(turned)", params: ["number": .integer(turned)], events: nil))
            case .note: notes.append("“a note”")
            case .cover: navigator.present(Cover(), as: .fullScreen, isDismissable: true)
            case .lock: navigator.rotateToken()
            }
        }
    }

    struct Cover: Coordinator {
        enum Event: NavigationEvent, CaseIterable { case lift }
        func start(_ navigator: inout Navigator) { navigator.push(Screen("cover")) }
        func handle(_ event: Event, _ navigator: inout Navigator) { navigator.finish() }
    }

    /// A later version of `Pages`.
    struct NumberedPages: Coordinator {
        static let name = "pages"
        var last: Int
        enum Event: NavigationEvent, CaseIterable { case turn }

        func start(_ navigator: inout Navigator) {}
        mutating func handle(_ event: Event, _ navigator: inout Navigator) { last += 1 }
        static func migrate(_ saved: JSON, from version: Int) -> JSON { ["last": saved["turned"] ?? 0] }
    }

    /// A client of one session, which can read the session's past.
    struct Client {
        var host: SessionHost
        let id: SessionID
        var token: String
        /// The state in each answer, by its version.
        var answered: [Int: NavigationState] = [:]

        init(_ store: any SessionStore) async throws {
            host = DeltaRecordTests.host(store)
            let created = try await host.create()
            id = created.id
            token = created.token.text
        }

        mutating func post(_ event: PostedEvent) async throws {
            let session = try await host.session(id, token: token)
            guard case .applied(let applied) = try await session.apply(event) else { return }
            if let replaced = applied.token { token = replaced.text }
            answered[applied.state.version] = applied.state.navigation
        }

        func past() async throws -> [Past] {
            let session = try await host.session(id, token: token)
            var past: [Past] = []
            for entry in try await session.history(limit: .max) {
                let state = try await session.past(entry.version)
                past.append(Past(version: entry.version, note: entry.note, state: state.navigation))
            }
            return past
        }
    }

    struct Past: Equatable {
        let version: Int
        let note: TransitionNote
        let state: NavigationState
    }

    static let app = App("desk", root: { Desk() }, coordinators: [Pages.self, Cover.self])
    static let renewed = App("desk", version: 2, root: { Desk() }, coordinators: [NumberedPages.self, Cover.self])
    static let retention = Retention(versions: 40)
    /// The events that are posted, over and over.
    static let walk = [
        PostedEvent("selectTab", payload: ["tab": "pages"]), PostedEvent("turn"), PostedEvent("turn"),
        PostedEvent("back"), PostedEvent("note"), PostedEvent("selectTab", payload: ["tab": "own"]),
        PostedEvent("selectTab", payload: ["tab": "pages"]), PostedEvent("cover"), PostedEvent("lift"),
        PostedEvent("backToRoot"),
    ]

    let directory = TemporaryDirectory()

    static func host(_ store: any SessionStore, _ app: App = app) -> SessionHost {
        var settings = SessionSettings()
        settings.handlerDeadline = .seconds(7200)
        return SessionHost(
            apps: [app], store: store, settings: settings, retention: retention, report: { Issue.record("\($0)") })
    }

    func open() throws -> SQLiteStore {
        try SQLiteStore(directory: directory.path, retention: DeltaRecordTests.retention) { Issue.record("\($0)") }
    }

    @Test func `the past reads as it was, whatever the base versions of its records`() async throws {
        var stored = try await Client(try open())
        var remembered = try await Client(MemoryStore(retention: DeltaRecordTests.retention))
        // Rounds of different lengths, so that all kinds of base versions occur before and after a restore.
        for (round, length) in [4, 1, 17, 2, 40, 33, 9].enumerated() {
            for step in 0..<length {
                let event = DeltaRecordTests.walk[step % DeltaRecordTests.walk.count]
                try await stored.post(event)
                try await remembered.post(event)
            }
            if round == 3 {
                for event in [DeltaRecordTests.walk[0], PostedEvent("lock")] {
                    try await stored.post(event)
                    try await remembered.post(event)
                }
            }
            let past = try await remembered.past()
            #expect(try await stored.past() == past, "in round \(round)")
            for version in past where version.version > 1 {
                #expect(version.state == stored.answered[version.version], "in round \(round)")
            }

            await stored.host.store.close()
            stored.host = DeltaRecordTests.host(try open())

            #expect(try await stored.past() == past, "in round \(round), opened again")
        }
        await stored.host.store.close()
        let reader = try SQLiteDatabase(path: directory.path + "/sessions.sqlite", isReadOnly: true)
        let kept = DeltaRecordTests.retention.retainedVersions
        #expect(try reader.integer("SELECT count(*) FROM journal") == kept)
        func meanSize(_ condition: String) throws -> Int {
            let mean = "SELECT CAST(avg(length(record)) AS INTEGER) FROM journal WHERE record ->> '$.base'"
            return try #require(try reader.integer("\(mean) \(condition)"))
        }
        let (full, delta) = (try meanSize("IS NULL"), try meanSize("IS NOT NULL"))
        #expect(delta < full * 2 / 3, "\(delta) and \(full) bytes")
    }

    @Test(arguments: [true, false])
    func `a bound on bytes never deletes what the last version needs`(isInMemory: Bool) async throws {
        let retention = Retention(versions: 40, versionBytes: 1)
        func open() throws -> any SessionStore {
            if isInMemory { return MemoryStore(retention: retention) }
            return try SQLiteStore(directory: directory.path, retention: retention) { Issue.record("\($0)") }
        }
        var client = try await Client(try open())
        for step in 0..<50 {
            try await client.post(DeltaRecordTests.walk[step % DeltaRecordTests.walk.count])
            let loaded = try await client.host.store.load(client.id)
            #expect(loaded?.record.version == client.answered.keys.max())
        }
        await client.host.store.close()
        if isInMemory { return }

        client.host = DeltaRecordTests.host(try open())

        #expect(try await client.past().first?.state == client.answered.max { $0.key < $1.key }?.value)
        await client.host.store.close()
    }

    @Test func `a version that is restored unchanged can be a base version`() async throws {
        var client = try await Client(try open())
        await client.host.store.close()
        client.host = DeltaRecordTests.host(try open())

        try await client.post(DeltaRecordTests.walk[0])

        await client.host.store.close()
        let reader = try SQLiteDatabase(path: directory.path + "/sessions.sqlite", isReadOnly: true)
        #expect(try reader.integer("SELECT record ->> '$.base' FROM journal WHERE version = 2") == 1)
    }

    @Test func `a version that was migrated since is no base version`() async throws {
        var client = try await Client(try open())
        for round in 1...3 {
            await client.host.store.close()
            client.host = DeltaRecordTests.host(try open(), DeltaRecordTests.renewed)

            for tab in ["pages", "own"] {
                try await client.post(PostedEvent("selectTab", payload: ["tab": .string(tab)]))
            }

            #expect(try await client.past().first?.version == 1 + 2 * round)
        }
        await client.host.store.close()
    }

    @Test(arguments: [
        ("", "", nil), (#""base":7"#, #""base":6"#, "base"), ("s_0000000000001", "s_0000000000002", "base"),
        (#""visible":"k2""#, #""visible":"k3""#, "visible"), ("[1]", "[3]", "state"), (#"["k2"]"#, #"["k3"]"#, "state"),
        (#"["x"]"#, #"["z"]"#, "state"),
    ])
    func `what a delta record names must be in its base`(right: String, changed: String, wrong: String?) throws {
        let (id, times) = (try SessionID.make(1).text, #""time":1,"keptUntil":1,"expiresAt":1"#)
        let full = """
            {"session":"\(id)","app":"a","token":"\(String(repeating: "ab", count: 32))","createdAt":1,"version":7,\(times),\
            "state":{"coordinators":[{"id":1,"name":"a"}],"stack":{"screens":[{"key":"k1","coordinator":1,"tabs":{"items":[\
            {"id":"x","stack":{"screens":[{"key":"k2","coordinator":1}]}}]}}]}}}
            """
        let delta = """
            {"session":"\(id)","version":8,"base":7,\(times),"visible":"k2","state":{"coordinators":[1],"stack":{"screens":[\
            {"key":"k1","coordinator":1,"tabs":{"items":["x"]}}]},"presented":[{"stack":{"screens":["k2"]}}]}}
            """
        let sent = delta.replacingOccurrences(of: right, with: changed)
        let base = try SessionRecord(parsing: Array(full.utf8))
        func read() throws -> SessionRecord { try SessionRecord(parsing: Array(sent.utf8), base: base) }
        if let wrong {
            #expect(throws: RecordError.invalid(member: wrong)) { try read() }
        } else {
            #expect(try read().note?.visible == ["key": "k2", "coordinator": "a"])
        }
    }

    @Test func `a record whose base version is damaged or gone is never served`() async throws {
        var client = try await Client(try open())
        for event in DeltaRecordTests.walk { try await client.post(event) }
        await client.host.store.close()
        let database = try SQLiteDatabase(path: directory.path + "/sessions.sqlite", isGuarded: true)
        for sql in [
            "UPDATE journal SET record = replace(record, 'first', 'worst') WHERE version = 1",
            "DELETE FROM journal WHERE version = 1",
        ] {
            try database.execute(sql)
            client.host = DeltaRecordTests.host(try open())
            await #expect(throws: SessionError.self) { try await client.past() }
            let error = await #expect(throws: StoreError.self) { try await client.host.store.load(client.id) }
            let text = "\(try #require(error))"
            #expect(text.contains("is damaged") || text.contains("is missing"))
            await client.host.store.close()
        }
    }
}
