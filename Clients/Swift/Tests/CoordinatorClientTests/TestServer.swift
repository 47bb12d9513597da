import CoordinatorClient
import Foundation
import Synchronization
import Testing

/// A server for all tests: the one at `COORDINATORD_URL`, or the program `COORDINATORD_SERVER`, started with a store in
/// memory.
enum TestServer {
    static let environment = ProcessInfo.processInfo.environment
    static let isThere = environment["COORDINATORD_URL"] != nil || environment["COORDINATORD_SERVER"] != nil

    static var url: URL { get throws { try running.get() } }

    private static let running = Result<URL, any Error> {
        if let text = environment["COORDINATORD_URL"] { return try #require(URL(string: text)) }
        let program = try #require(environment["COORDINATORD_SERVER"])
        let (process, output) = (Process(), Pipe())
        // Ends with the tests: its input ends with them.
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = [
            "-c", #""$0" serve --port 0 --store memory --development & cat; kill $!"#, program,
        ]
        process.standardInput = Pipe()
        process.standardOutput = output
        try process.run()
        processes.withLock { $0.append(process) }
        var text = ""
        while true {
            let data = output.fileHandleForReading.availableData
            text += String(decoding: data, as: UTF8.self)
            if let found = text.firstMatch(of: /listening on (http:\/\/[0-9.:]+)/) {
                return try #require(URL(string: String(found.output.1)))
            }
            if data.isEmpty { throw CocoaError(.fileReadUnknown) }
        }
    }

    private static let processes = Mutex<[Process]>([])

    /// A session that is open.
    @discardableResult
    static func open(
        _ app: String, link: String? = nil, storage: any SessionStorage = NoStorage(), drawsEarly: Bool = false
    ) async throws -> NavigationSession {
        let session = NavigationSession(server: try url, storage: storage, drawsEarly: drawsEarly)
        try await session.open(app: app, link: link, within: .seconds(3600))
        return session
    }

    /// Another app with the same token: without a code, since a server takes only five from an address in a minute.
    static func another(_ storage: MemoryStorage) async throws -> NavigationSession {
        let copy = MemoryStorage()
        try copy.save(storage.load())
        let session = NavigationSession(server: try url, storage: copy)
        try await session.resume(within: .seconds(3600))
        return session
    }
}

extension Trait where Self == ConditionTrait {
    /// For what needs a server.
    static var server: Self {
        .enabled(if: TestServer.isThere, "COORDINATORD_SERVER=path of coordinatord, or COORDINATORD_URL")
    }
}

/// What was saved, for a test to look at.
final class MemoryStorage: SessionStorage {
    private let kept = Mutex<Data?>(nil)

    var text: String { kept.withLock { $0.map { String(decoding: $0, as: UTF8.self) } ?? "" } }
    func load() throws -> Data? { kept.withLock { $0 } }
    func save(_ data: Data?) throws { kept.withLock { $0 = data } }
}

/// Storage without room.
struct FullStorage: SessionStorage {
    func load() throws -> Data? { nil }
    func save(_ data: Data?) throws { throw CocoaError(.fileWriteOutOfSpace) }
}

extension NavigationSession {
    /// A tap that has time: the usual deadline may pass on a slow machine.
    @discardableResult
    func post(_ event: NavigationEvent, on screen: String? = nil, ifUnchanged: Bool = false) async -> Outcome {
        await post(event, on: screen, within: .seconds(3600), ifUnchanged: ifUnchanged)
    }

    /// Taps a second time before the first tap is answered: both wait for the actor, in this order, while this runs.
    func postTwice(_ event: NavigationEvent, on screen: String? = nil) async -> [Outcome] {
        let first = Task { await post(event, on: screen) }
        let second = Task { await post(event, on: screen) }
        return [await first.value, await second.value]
    }
}

extension Outcome {
    var isDone: Bool { if case .done = self { true } else { false } }
}
