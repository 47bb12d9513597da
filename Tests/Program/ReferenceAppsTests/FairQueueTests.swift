import Testing

@testable import ReferenceApps

@Suite struct FairQueueTests {
    private static func all(_ queue: FairQueue<Character, String>) -> [String] {
        var queue = queue
        var all: [String] = []
        while let next = queue.popFirst() { all.append(next) }
        return all
    }

    @Test func `clients take turns`() {
        var queue = FairQueue<Character, String>(limit: 9)

        for element in ["a1", "a2", "a3", "b1", "c1", "c2"] {
            #expect(queue.append(element, of: element.first ?? "?") == nil)
        }

        #expect(FairQueueTests.all(queue) == ["a1", "b1", "c1", "a2", "c2", "a3"])
    }

    @Test func `a full queue accepts an element of a client that has less, and drops the last of the one with most`() {
        var queue = FairQueue<Character, String>(limit: 4)
        for element in ["a1", "a2", "a3", "a4"] { _ = queue.append(element, of: "a") }

        let dropped = ["a5", "b1", "b2", "b3", "c1", "c2"].map { queue.append($0, of: $0.first ?? "?") }

        // If two clients would only change places, the one that came first stays.
        #expect(dropped == ["a5", "a4", "a3", "b3", "a2", "c2"])
        #expect(FairQueueTests.all(queue) == ["a1", "b1", "c1", "b2"])
    }

    @Test func `removing an element makes room`() {
        var queue = FairQueue<Character, String>(limit: 1)

        #expect(queue.append("a1", of: "a") == nil)
        #expect(queue.append("b1", of: "b") == "b1")
        #expect(queue.popFirst() == "a1")
        #expect(queue.append("b2", of: "b") == nil)
        #expect(FairQueueTests.all(queue) == ["b2"])
    }
}
