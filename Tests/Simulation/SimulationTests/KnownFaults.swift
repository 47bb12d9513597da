/// The faults that walks find and that are not mended yet, by their kinds: `…` stands for whatever follows. What is mended
/// is removed here, so that it stays found.
let knownFaults: [String: String] = [
    "listed: plan, as a form: invalidEvent": "a form's date field takes a time only",
    "listed: drawn for another device: …": "what another device was sent is refused",
    "once: the outcome of an effect is lost …": "its coordinator hears nothing",
    "client: selectTab cannot be performed": "a screen that goes selects a tab that no client has seen",
]
