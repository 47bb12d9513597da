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
    /// What is in front on the home screen.
    func popular() async throws -> [Good]
    /// - Returns: `nil` if there is no such product.
    func product(_ id: Int) async throws -> Good?
    /// The products whose name or number contains a text, at most ten.
    func products(matching text: String) async throws -> [Good]
}

/// A product as the shop sells it.
public struct Good: Codable, Sendable, Equatable {
    public let id: Int
    public let title: String
    /// In euros.
    public let price: Int
    public let about: String

    public init(id: Int, title: String, price: Int, about: String) {
        self.id = id
        self.title = title
        self.price = price
        self.about = about
    }

    /// “€53”.
    public static func text(ofPrice price: Int) -> String { "€\(price)" }
    public var priceText: String { Good.text(ofPrice: price) }
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

/// The products 1 to 100: ten things, each of ten materials.
public struct CatalogInMemory: Catalog {
    private let latency: Duration

    public init(latency: Duration) {
        self.latency = latency
    }

    private static let materials = [
        "Oak", "Copper", "Birch", "Ceramic", "Walnut", "Glass", "Brass", "Ash", "Marble", "Steel",
    ]

    private static let things = [
        ("stool", "Three legs, so that it stands on any floor."),
        ("desk lamp", "Warm light, and an arm that stays where you leave it."),
        ("teapot", "Pours without a drop beside the cup."),
        ("wall clock", "Silent, and easy to read from across the room."),
        ("bowl", "For fruit, keys, or a salad for four."),
        ("vase", "Narrow neck: five tulips stand upright."),
        ("tray", "Carries breakfast for two up the stairs."),
        ("bookend", "Heavy enough for a row of dictionaries."),
        ("mirror", "Forty centimetres, with a hook on the back."),
        ("candle holder", "Catches the wax, and washes clean."),
    ]

    private static let all = (1...100).map { id in
        let (thing, about) = things[(id - 1) % 10]
        return Good(id: id, title: "\(materials[(id - 1) / 10]) \(thing)", price: 19 + id * 37 % 80, about: about)
    }

    public func popular() -> [Good] { [42, 3, 16, 24, 39, 58, 71, 90].map { CatalogInMemory.all[$0 - 1] } }

    public func product(_ id: Int) -> Good? { (1...100).contains(id) ? CatalogInMemory.all[id - 1] : nil }

    public func products(matching text: String) async throws -> [Good] {
        try await Task.sleep(for: latency)
        let text = text.lowercased()
        return Array(
            CatalogInMemory.all.lazy.filter {
                $0.title.lowercased().contains(text) || "product \($0.id)".contains(text)
            }.prefix(10))
    }
}
