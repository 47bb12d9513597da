import Coordinators
import CoordinatorsTesting
import JSONCoding
import Testing

/// Saved states that somebody has changed: none of their numbers may be trusted as a counter of the session.
@Suite struct SavedNumbersTests {
    static let extremes = [Int.min, -1, 0, 1 << 52, 1 << 53, 1 << 53 + 1, .max - 1, .max]

    @Test func `a saved state with any number changed is refused, or works`() async throws {
        var alerted = try await CoordinatorTester(TestApps.app)
        for (type, payload) in [("login", JSON?.none), ("visit", nil), ("push", 1), ("ask", nil)] {
            try await alerted.send(type, payload)
        }
        var tabbed = try await CoordinatorTester(TestApps.shelf)
        try await tabbed.send("more")
        for tester in [alerted, tabbed] {
            let saved = try JSON(parsing: tester.state.encoded, maximumDepth: 100)
            let places = saved.numberPlaces
            #expect(places.count > 12)
            var restored = 0
            for place in places {
                for extreme in SavedNumbersTests.extremes {
                    let forged = saved.replacing(place, with: .integer(extreme))
                    guard let state = try? tester.app.restore(forged).state else { continue }
                    restored += 1
                    try await SavedNumbersTests.use(state, of: tester)
                }
            }
            #expect(restored > 0 && restored < places.count * SavedNumbersTests.extremes.count / 2)
        }
    }

    /// Uses the state as a server does: posts events, and saves and restores the results.
    private static func use(_ state: NavigationState, of tester: CoordinatorTester) async throws {
        let parts = SharedParts(of: state)
        for event in state.acceptedEvents + ["push"] {
            guard let next = try? await tester.app.apply(PostedEvent(event), to: state, at: tester.now).state else {
                continue
            }
            _ = parts.coverMost(of: next)
            var writer = JSONWriter()
            next.save(to: &writer, against: parts)
            let whole = try NavigationState.completed(
                try JSON(parsing: writer.bytes, maximumDepth: 100), from: try JSON(parsing: state.encoded))
            #expect(try tester.app.restore(whole).state == next, "\(event)")
        }
    }
}

extension JSON {
    /// The path to each number in it: member names, and positions in arrays.
    var numberPlaces: [[String]] {
        switch self {
        case .integer, .number, .longNumber: [[]]
        case .array(let elements):
            elements.enumerated().flatMap { index, element in element.numberPlaces.map { [String(index)] + $0 } }
        case .object(let object):
            object.members.flatMap { member in member.value.numberPlaces.map { [member.name] + $0 } }
        default: []
        }
    }

    func replacing(_ place: [String], with value: JSON) -> JSON {
        guard let name = place.first else { return value }
        let rest = Array(place.dropFirst())
        switch self {
        case .array(var elements):
            if let index = Int(name) { elements[index] = elements[index].replacing(rest, with: value) }
            return .array(elements)
        case .object(var object):
            object[name] = object[name]?.replacing(rest, with: value)
            return .object(object)
        default: return self
        }
    }
}
