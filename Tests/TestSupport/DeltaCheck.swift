package import Coordinators
import JSONCoding
import Synchronization

/// Saves each state as a delta against an earlier one, and compares the completed delta with the full saved state.
package final class DeltaCheck: Sendable {
    private let state = Mutex<(base: (saved: JSON, parts: SharedParts)?, count: Int)>((nil, 0))
    /// How many states are saved against one base.
    private static let statesPerBase = 15

    package init() {}

    /// - Returns: what is wrong; `nil` if nothing is.
    package func fault(_: NavigationState, _ result: TransitionResult) -> String? {
        let navigation = result.state
        let saved = navigation.encoded
        guard let json = try? JSON(parsing: saved, maximumDepth: 512) else { return "the saved state is no JSON" }
        return state.withLock { state in
            defer {
                if state.count.isMultiple(of: DeltaCheck.statesPerBase) {
                    state.base = (json, SharedParts(of: navigation))
                }
                state.count += 1
            }
            guard let base = state.base else { return nil }
            let text = JSONWriter.bytes(capacity: saved.count) { navigation.save(to: &$0, against: base.parts) }
            guard let delta = try? JSON(parsing: text, maximumDepth: 512),
                let completed = try? NavigationState.completed(delta, from: base.saved),
                completed.description.utf8.elementsEqual(saved)
            else { return "the delta against an earlier state completes to another state" }
            return nil
        }
    }
}
