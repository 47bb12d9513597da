import Coordinators
import Dispatch
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import ReferenceApps

/// One at a time: a check takes a core and 64 MiB.
@Suite(.serialized) struct AccountTests {
    @Test func `the right password logs in, whatever the case of the address`() async throws {
        let accounts = try await Accounts()

        let outcomes = [
            await accounts.logIn("ann@example.com", "correct horse"),
            await accounts.logIn("Ann@Example.COM", "correct horse"),
        ]

        #expect(outcomes == [nil, nil])
    }

    @Test(arguments: [
        ("ann@example.com", "wrong"), ("ann@example.com", ""), ("ann@example.com", "Correct horse"),
        ("bob@example.com", "correct horse"), ("", ""), ("ann@example.com' OR '1'='1", "correct horse"),
        (String(repeating: "a", count: 1_000_000), "correct horse"),
    ])
    func `a wrong password and an unknown account get the same answer`(email: String, password: String) async throws {
        let accounts = try await Accounts()

        let outcome = await accounts.logIn(email, password)

        #expect(outcome == .refused)
    }

    /// The decoy has the limits of real hashes, so that both take the same time.
    @Test(arguments: ["ann@example.com", "bob@example.com"])
    func `a password is hashed for an unknown account, too`(email: String) async throws {
        let accounts = try await Accounts()

        _ = await accounts.logIn(email, "wrong")

        let comparisons = accounts.store.comparisons.load(ordering: .relaxed)
        #expect(comparisons == 1)
    }

    @Test func `a login that can neither be checked nor wait is busy`() async throws {
        let accounts = try await Accounts(waitingLimit: 0)
        let lanes = accounts.occupyLanes()

        let outcome = await accounts.logIn("ann@example.com", "correct horse")
        await lanes.free()

        #expect(outcome == .busy)
        try await eventually { await accounts.logIn("ann@example.com", "correct horse") == nil }
    }

    @Test(arguments: ["ann@example.com", "bob@example.com"])
    func `after three failures an account is delayed by up to a minute, known or not`(email: String) async throws {
        let accounts = try await Accounts()
        for _ in 0..<2 { #expect(await accounts.logIn(email, "wrong") == .refused) }

        var delays: [Int] = []
        for _ in 0..<8 {
            #expect(await accounts.logIn(email, "wrong") == .refused)
            guard case .tooManyFailures(let delay)? = await accounts.logIn(email, "correct horse") else { break }
            delays.append(delay)
            accounts.clock.advance(by: .seconds(delay) - .milliseconds(1))
            #expect(await accounts.logIn(email.uppercased(), "correct horse") == .tooManyFailures(retryAfter: 1))
            accounts.clock.advance(by: .milliseconds(1))
        }

        #expect(delays == [1, 2, 4, 8, 16, 32, 60, 60])
    }

    @Test func `an account that is delayed delays no other`() async throws {
        let accounts = try await Accounts()

        for _ in 0..<3 { _ = await accounts.logIn("bob@example.com", "wrong") }

        #expect(await accounts.logIn("bob@example.com", "wrong") == .tooManyFailures(retryAfter: 1))
        #expect(await accounts.logIn("ann@example.com", "correct horse") == nil)
    }

    @Test(arguments: ["ann@example.com", "bob@example.com"])
    func `a stranger's failures delay the stranger, not the owner, account known or not`(email: String) async throws {
        let accounts = try await Accounts()
        let stranger = ClientAddress("stranger"), owner = ClientAddress("owner")

        for _ in 0..<3 { _ = await accounts.logIn(email, "wrong", from: stranger) }

        #expect(await accounts.logIn(email, "wrong", from: stranger) == .tooManyFailures(retryAfter: 1))
        #expect(await accounts.logIn(email, "wrong", from: owner) == .refused)
        #expect(await accounts.logIn(email, "wrong", from: nil) == .refused)
        let outcome = await accounts.logIn(email, "correct horse", from: owner)
        #expect(outcome == (email == "ann@example.com" ? nil : .refused))
    }

    @Test func `a client that fills the queue with made-up names gives way to others`() async throws {
        let accounts = try await Accounts(waitingLimit: 4)
        let stranger = ClientAddress("stranger"), owner = ClientAddress("owner")
        let lanes = accounts.occupyLanes()

        let attempts = (0..<5).map { number in
            Task.immediate { await accounts.logIn("\(number)@example.com", "wrong", from: stranger) }
        }
        let right = Task.immediate { await accounts.logIn("ann@example.com", "correct horse", from: owner) }
        await lanes.free()

        #expect(await right.value == nil)
        var outcomes: [LoginError?] = []
        for attempt in attempts { outcomes.append(await attempt.value) }
        #expect(outcomes == [.refused, .refused, .refused, .busy, .busy])
    }

    @Test func `the right password clears the failures before it`() async throws {
        let accounts = try await Accounts()
        for _ in 0..<3 { _ = await accounts.logIn("ann@example.com", "wrong") }
        accounts.clock.advance(by: .seconds(1))

        let right = await accounts.logIn("ann@example.com", "correct horse")
        var outcomes: [LoginError?] = []
        for _ in 0..<3 { outcomes.append(await accounts.logIn("ann@example.com", "wrong")) }

        #expect(right == nil)
        #expect(outcomes == [.refused, .refused, .refused])
    }

    @Test func `of passwords that wait together, no more are checked than the account has attempts`() async throws {
        let accounts = try await Accounts(waitingLimit: 32)
        for _ in 0..<3 { _ = await accounts.logIn("ann@example.com", "wrong") }
        accounts.clock.advance(by: .seconds(1))

        let attempts = (0..<20).map { _ in Task.immediate { await accounts.logIn("ann@example.com", "wrong") } }
        var refused = 0
        for attempt in attempts where await attempt.value == .refused { refused += 1 }

        #expect(refused == 1)
    }

    @Test func `accounts outlive the store, and none is added twice`() async throws {
        let file = TemporaryFile()
        let accounts = try await Accounts(path: file.path)
        #expect(try await blocking { try accounts.store.add(email: "bob@example.com", password: "battery staple") })

        let reopened = try await Accounts(path: file.path)
        let isAdded = try await blocking { try reopened.store.add(email: "BOB@example.com", password: "another") }

        #expect(!isAdded)
        #expect(await reopened.logIn("bob@example.com", "battery staple") == nil)
        #expect(await reopened.logIn("bob@example.com", "another") == .refused)
    }

    @Test func `the file holds an Argon2id hash, and not the password`() async throws {
        let file = TemporaryFile()
        _ = try await Accounts(path: file.path)

        let bytes = try Data(contentsOf: URL(filePath: file.path))

        #expect(bytes.range(of: Data("$argon2id$v=19$m=65536,t=2,p=1$".utf8)) != nil)
        #expect(bytes.range(of: Data("ann@example.com".utf8)) != nil)
        for part in ["correct", "horse"] { #expect(bytes.range(of: Data(part.utf8)) == nil) }
    }

    @Test func `a file that is no database is refused with the reason`() throws {
        let file = TemporaryFile()
        try Data(repeating: 7, count: 4096).write(to: URL(filePath: file.path))

        #expect(throws: AccountStoreError.unavailable(reason: "file is not a database (SQLite 26)")) {
            try AccountStore(path: file.path)
        }
    }

    @Test(arguments: [
        "", "ann", "@", "ann@", "@example.com", "a@b@c", "ann @example.com", "ann\u{1B}[2J@example.com",
        "ann\n@example.com", String(repeating: "a", count: 255) + "@example.com",
    ])
    func `no account is added under an invalid address`(email: String) throws {
        let store = try AccountStore(path: nil)

        #expect(throws: AccountStoreError.invalidEmail(email)) { try store.add(email: email, password: "x") }
    }
}

/// A store and its clock. In development, the store holds Ann's account.
struct Accounts {
    let clock = ManualClock()
    let store: AccountStore

    init(path: String? = nil, isDevelopment: Bool = true, waitingLimit: Int = 16) async throws {
        store = try await blocking { [clock] in
            try AccountStore(
                path: path, isDevelopment: isDevelopment, waitingLimit: waitingLimit, now: clock.read)
        }
    }

    /// - Returns: `nil` if the login succeeds.
    func logIn(_ email: String, _ password: String, from client: ClientAddress? = nil) async -> LoginError? {
        let login = LoginUseCase(repository: store)
        do { try await login.logIn(email: email, password: password, from: client) } catch { return error }
        return nil
    }

    /// Keeps all lanes busy, on which passwords are checked.
    func occupyLanes() -> OccupiedLanes {
        OccupiedLanes(store.lanes, count: ProcessInfo.processInfo.activeProcessorCount)
    }
}

struct OccupiedLanes {
    private let gate = DispatchSemaphore(value: 0)
    private let work: [Task<Void?, Never>]

    init(_ lanes: WorkLanes<ClientAddress?>, count: Int) {
        let gate = gate
        work = (0..<count).map { _ in Task.immediate { await lanes.run(for: nil) { gate.wait() } } }
    }

    func free() async {
        for _ in work { gate.signal() }
        for task in work { _ = await task.value }
    }
}

/// Stands still until a test advances it.
final class ManualClock: Sendable {
    private let now = Mutex(ContinuousClock.now)

    @Sendable func read() -> ContinuousClock.Instant { now.withLock { $0 } }

    func advance(by duration: Duration) { now.withLock { $0 += duration } }
}

/// A path without a file. What a test puts there is removed in the end.
final class TemporaryFile {
    let path = FileManager.default.temporaryDirectory.appending(path: "accounts-test-\(UUID().uuidString)").path

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }
}
