import CinemaServices
import Coordinators

/// What the user has booked, and may cancel.
struct TicketsCoordinator: Coordinator {
    static let dependencies: [any Any.Type] = [(any FilmRepository).self]

    enum Event: NavigationEvent {
        case cancel(Booking)
        case cancelBooking(Booking)
        case offers
        static let examples: [Event] = [
            .cancel(Booking(film: 1, seat: 7)), .cancelBooking(Booking(film: 1, seat: 7)), .offers,
        ]
    }

    func start(_ navigator: inout Navigator) {
        navigator.push(Screen("tickets", title: "Tickets", events: ["cancel", "offers"]))
    }

    func render(_ screen: inout Screen, in context: NavigationContext) {
        let bookings = context.shared[Bookings.self].items
        screen.params["bookings"] = .array(bookings.map { ["film": .integer($0.film), "seat": .integer($0.seat)] })
        screen.params["vouchers"] = .integer(context.shared[Membership.self].vouchers)
    }

    func handle(_ event: Event, _ navigator: inout Navigator) async throws {
        switch event {
        case .cancel(let booking):
            guard navigator.shared[Bookings.self].items.contains(booking) else { return }
            navigator.alert(
                Alert(
                    "Cancel this booking?", message: "Seat \(booking.seat)",
                    buttons: [
                        AlertButton(
                            "yes", title: "Cancel booking", role: .destructive, sends: Event.cancelBooking(booking)),
                        AlertButton("no", title: "Keep it", role: .cancel),
                    ]))
        case .cancelBooking(let booking):
            if !navigator.isDryRun {
                try await navigator.resolve((any FilmRepository).self).refund(seat: booking.seat, of: booking.film)
            }
            navigator.shared[Bookings.self].items.removeAll { $0 == booking }
        case .offers: navigator.start(OffersCoordinator())
        }
    }

    func childDidFinish(_ child: any Coordinator, _ navigator: inout Navigator) {
        guard let offers = child as? OffersCoordinator else { return }
        navigator.shared[Membership.self].vouchers += offers.vouchers
    }
}

/// Vouchers to collect. Their number is the result.
struct OffersCoordinator: Coordinator {
    enum Event: NavigationEvent, CaseIterable { case collect, done }

    private(set) var vouchers = 0

    func start(_ navigator: inout Navigator) {
        navigator.push(Screen("offers", title: "Offers"))
    }

    mutating func handle(_ event: Event, _ navigator: inout Navigator) {
        switch event {
        case .collect: vouchers += 1
        case .done: navigator.finish()
        }
    }
}
