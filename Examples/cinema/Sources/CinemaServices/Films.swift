/// A film that the cinema shows.
public struct Film: Sendable, Equatable {
    public let id: Int
    public let title: String
    public let synopsis: String

    public init(id: Int, title: String, synopsis: String) {
        self.id = id
        self.title = title
        self.synopsis = synopsis
    }
}

/// Where films come from and seats are sold.
public protocol FilmRepository: Sendable {
    func films() async throws -> [Film]

    /// - Returns: `nil` if there is no such film.
    func film(_ id: Int) async throws -> Film?

    /// - Parameter purchase: names the purchase; the same one may be tried again.
    /// - Returns: whether the seat is sold to this purchase.
    func sell(seat: Int, of film: Int, purchase: String) async throws -> Bool

    func refund(seat: Int, of film: Int) async throws

    /// The number of seats that are sold.
    func sales() async throws -> Int
}

/// In memory. A real repository asks a database or another service.
public actor FilmsInMemory: FilmRepository {
    private struct Seat: Hashable {
        let film: Int
        let number: Int
    }

    private let shown = [
        Film(id: 1, title: "Metropolis", synopsis: "A city of machines, and of those who keep them running."),
        Film(id: 2, title: "The General", synopsis: "An engine driver wants his locomotive back."),
        Film(id: 3, title: "Sunrise", synopsis: "A farmer, his wife, and a woman from the city."),
    ]
    /// The purchases, by their seats.
    private var purchases: [Seat: String] = [:]

    public init() {}

    public func films() -> [Film] { shown }

    public func film(_ id: Int) -> Film? { shown.first { $0.id == id } }

    public func sell(seat: Int, of film: Int, purchase: String) -> Bool {
        let seat = Seat(film: film, number: seat)
        if purchases[seat] == nil { purchases[seat] = purchase }
        return purchases[seat] == purchase
    }

    public func refund(seat: Int, of film: Int) { purchases[Seat(film: film, number: seat)] = nil }

    public func sales() -> Int { purchases.count }
}
