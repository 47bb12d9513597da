/// The faults that walks find and that are not mended yet, by their kinds: `…` stands for whatever follows. What is mended
/// is removed here, so that it stays found.
package let knownFaults: [String: String] = [
    "access: pair: unknownCode, not let in":
        "an event that asks for a pairing code closes the device's earlier one, also if it is not committed",
    "kept: outcome has changed something":
        "an event's answer that is read again ends the user's sessions again, also those that were signed in later",
    "once: an effect has no outcome":
        "after a commit whose answer was lost, a store of one server does not look for its effects before the next start",
]
