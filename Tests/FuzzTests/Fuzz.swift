/// A reader of outside input, and what holds for every input.
protocol FuzzTarget: SendableMetatype {
    /// The first inputs.
    static var seeds: [[UInt8]] { get async throws }

    /// Returns if every promise holds for the input; otherwise ends the process.
    static func check(_ input: [UInt8])
}

enum Fuzz {
    static let targets: [(name: String, target: any FuzzTarget.Type)] = [
        ("json", JSONText.self), ("event", PostedEvents.self), ("target", RequestTarget.self),
        ("fields", HeaderFields.self),
        ("state", SavedStates.self), ("record", StoredRecords.self), ("log", StoredLog.self),
    ]
}

/// Ends the process if a promise is broken; libFuzzer then keeps the input.
func promise(_ text: @autoclosure () -> String, _ holds: Bool) {
    if !holds { fatalError("broken: \(text())") }
}
