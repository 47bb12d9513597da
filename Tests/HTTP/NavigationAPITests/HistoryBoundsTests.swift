import Coordinators
import Foundation
import JSONCoding
import Sessions
import Testing
import TestSupport

/// Shows the text of its events.
private struct ShowCoordinator: Coordinator {
    enum Event: NavigationEvent {
        case show(params: String)
        case name(title: String)
        static let examples: [Event] = [.show(params: "x"), .name(title: "x")]
    }

    func start(_ navigator: inout Navigator) { navigator.push(Screen("shown")) }

    func handle(_ event: Event, _ navigator: inout Navigator) {
        switch event {
        case .show(let text): navigator.replace(with: Screen("shown", params: ["text": .string(text)]))
        case .name(let title): navigator.replace(with: Screen("shown", title: title))
        }
    }
}

/// A page of a history is bounded in bytes, however large the session's states are.
@Suite struct HistoryBoundsTests {
    private static let app = App("show", root: { ShowCoordinator() })

    private static func text(_ count: Int) -> String { String(repeating: "x", count: count) }

    /// Reads page after page, following the links.
    private static func pages(_ client: Client, limit: Int) async throws -> [(bytes: Int, entries: [JSON])] {
        var pages: [(bytes: Int, entries: [JSON])] = []
        var next: String? = "\(client.path)/history?limit=\(limit)"
        while let path = next, pages.count < 100 {
            let answer = try await client.call("GET", path)
            let page = try JSON(parsing: Array(answer.body))
            pages.append((answer.body.count, page["history"]?.array ?? []))
            next = page["next"]?.string
        }
        return pages
    }

    @Test(arguments: ["show", "name"])
    func `a page ends when it has enough bytes, and the next one begins there`(event: String) async throws {
        let client = try await Client(HistoryBoundsTests.app)
        let member = event == "show" ? "params" : "title"
        let body = #"{"type":"\#(event)","payload":{"\#(member)":"\#(HistoryBoundsTests.text(60_000))"}}"#
        for _ in 2...20 { #expect(try await client.post(body).status == 200) }

        let pages = try await HistoryBoundsTests.pages(client, limit: 100)

        #expect(pages.flatMap(\.entries).map { $0["version"]?.integer } == (1...20).reversed())
        #expect(pages.count > 5 && pages.allSatisfy { !$0.entries.isEmpty })
        #expect(pages.allSatisfy { $0.bytes < 200 * 1024 })
    }

    @Test func `a page has as many small states as the client asks for`() async throws {
        let client = try await Client(HistoryBoundsTests.app)
        for number in 2...7 {
            _ = try await client.post(#"{"type":"name","payload":{"title":"\#(number)"}}"#)
        }

        let pages = try await HistoryBoundsTests.pages(client, limit: 3)

        #expect(pages.map(\.entries.count) == [3, 3, 1])
    }

    @Test func `large parameters are omitted from the list, and are in the version itself`() async throws {
        let client = try await Client(HistoryBoundsTests.app)
        for size in [100, 3000] {
            let body = #"{"type":"show","payload":{"params":"\#(HistoryBoundsTests.text(size))"}}"#
            #expect(try await client.post(body).status == 200)
        }

        let entries = try await HistoryBoundsTests.pages(client, limit: 9).flatMap(\.entries)
        let version = try JSON(parsing: Array(try await client.call("GET", "\(client.path)/history/3").body))

        #expect(entries.map { $0["paramsOmitted"] } == [true, nil, nil])
        #expect(entries[0]["visible"] == ["key": "k3", "name": "shown", "coordinator": "show"])
        #expect(entries[1]["visible"]?["params"]?["text"] == .string(HistoryBoundsTests.text(100)))
        #expect(version["visible"]?["params"]?["text"] == .string(HistoryBoundsTests.text(3000)))
    }

    @Test func `a session whose oldest versions are gone has a last page`() async throws {
        let retention = Retention(versions: 5)
        let client = try await Client(
            HistoryBoundsTests.app, store: MemoryStore(retention: retention), retention: retention)
        let body = #"{"type":"name","payload":{"title":"\#(HistoryBoundsTests.text(60_000))"}}"#
        for _ in 2...9 { #expect(try await client.post(body).status == 200) }

        let pages = try await HistoryBoundsTests.pages(client, limit: 100)

        #expect(pages.flatMap(\.entries).map { $0["version"]?.integer } == [9, 8, 7, 6, 5])
        #expect(pages.allSatisfy { !$0.entries.isEmpty })
    }
}
