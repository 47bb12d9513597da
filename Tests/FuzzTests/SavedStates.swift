@testable internal import Coordinators
internal import JSONCoding
@testable internal import Sessions

/// A saved state that an app restores is a possible one, is saved again as it was, and continues like any other.
enum SavedStates: FuzzTarget {
    static var seeds: [[UInt8]] {
        get async throws { try await Fuzz.walks().flatMap(\.states).map(\.encoded) }
    }

    static func check(_ input: [UInt8]) {
        guard let json = try? JSON(parsing: input, maximumDepth: SessionRecord.depthLimit) else { return }
        for app in Fuzz.apps {
            guard let state = try? app.restore(json).state else { continue }
            var session = Session(of: app, in: state)
            let types = state.acceptedEvents
            guard !types.isEmpty else { continue }
            let type = types[input.count % types.count]
            let payload =
                BuiltInEvent(rawValue: type)?.payload ?? state.payloadsToTry(of: type).first ?? nil
            for event in [PostedEvent(type, payload: payload), PostedEvent(BuiltInEvent.back.rawValue)] {
                if case .invariantViolated(.repeatedKey(let key)) = session.post(event) {
                    fatalError("broken: no key is given out again: \(key)")
                }
            }
        }
    }
}
