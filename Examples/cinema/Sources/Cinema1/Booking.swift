import CinemaServices
import Coordinators

/// A seat, a confirmation. The booking is the result.
struct BookingCoordinator: Coordinator {
    static let dependencies: [any Any.Type] = [(any FilmRepository).self]

    enum Event: NavigationEvent {
        case choose(seat: Int)
        case confirm
        static let examples: [Event] = [.choose(seat: 7), .confirm]

        var fields: [Field] {
            switch self {
            case .choose: [Field("seat", minimum: 1, maximum: 400)]
            case .confirm: []
            }
        }
    }

    let film: Int
    private(set) var booking: Booking?
    private var seat: Int?

    init(film: Int) {
        self.film = film
    }

    func start(_ navigator: inout Navigator) {
        navigator.push(Screen("seats", title: "Choose a seat", params: ["film": .integer(film)], events: ["choose"]))
    }

    mutating func handle(_ event: Event, _ navigator: inout Navigator) async throws {
        switch event {
        case .choose(let seat):
            self.seat = seat
            navigator.push(
                Screen("confirm", title: "Seat \(seat)", events: [Control(role: .primary, sends: Event.confirm)]))
        case .confirm:
            guard let seat else { return }
            guard try await buy(seat, navigator) else {
                navigator.popTo("seats")
                return navigator.alert(Alert("Seat \(seat) is taken"))
            }
            booking = Booking(film: film, seat: seat)
            navigator.finish()
        }
    }

    /// - Returns: whether the seat is the user's now.
    private func buy(_ seat: Int, _ navigator: Navigator) async throws -> Bool {
        if navigator.isDryRun { return true }
        let films = try navigator.resolve((any FilmRepository).self)
        return try await films.sell(seat: seat, of: film, purchase: navigator.transitionID)
    }
}
