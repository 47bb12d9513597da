/// Where titles are saved.
public protocol ItemStore: Sendable {
    /// To save the same title again changes nothing.
    func save(_ title: String, of id: Int) async throws
}

/// Keeps nothing.
public struct ForgetfulItemStore: ItemStore {
    private let latency: Duration

    public init(latency: Duration) {
        self.latency = latency
    }

    public func save(_ title: String, of id: Int) async throws {
        try await Task.sleep(for: latency)
    }
}
