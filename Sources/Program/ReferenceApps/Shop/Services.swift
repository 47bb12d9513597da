public import Coordinators
internal import Synchronization

/// Charges cards. Whoever has a token can charge the card behind it, but cannot find out its number.
public protocol Payments: Sendable {
    func token(for card: Secret) async throws -> String

    /// - Parameter key: names the charge. To ask for the same one again charges nothing.
    /// - Returns: whether the card was charged; `false` if its bank declined.
    func charge(_ token: String, for items: [Int], key: String) async throws -> Bool
}

/// Knows what there is to buy.
public protocol Catalog: Sendable {
    /// The products whose title contains a text, at most ten.
    func products(matching text: String) async throws -> [Int]
}

/// Charges nobody. Declines each card that ends with 0002.
public final class PaymentsInMemory: Payments {
    private let latency: Duration
    private let paid = Mutex<[String: [Int]]>([:])

    public init(latency: Duration) {
        self.latency = latency
    }

    /// The items that were paid, by the keys of the charges.
    public var charges: [String: [Int]] { paid.withLock(\.self) }

    public func token(for card: Secret) -> String { "card-\(card.value.suffix(4))" }

    public func charge(_ token: String, for items: [Int], key: String) async throws -> Bool {
        try await Task.sleep(for: latency)
        guard !token.utf8.suffix(4).elementsEqual("0002".utf8) else { return false }
        paid.withLock { $0[key] = items }
        return true
    }
}

/// The products 1 to 100.
public struct CatalogInMemory: Catalog {
    private let latency: Duration

    public init(latency: Duration) {
        self.latency = latency
    }

    public func products(matching text: String) async throws -> [Int] {
        try await Task.sleep(for: latency)
        let text = text.lowercased()
        return Array((1...100).lazy.filter { "product \($0)".contains(text) }.prefix(10))
    }
}
