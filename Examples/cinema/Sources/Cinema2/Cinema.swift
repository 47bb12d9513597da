import CinemaServices
import Coordinators

/// A cinema: films, bookings, an account.
public func cinema(films: any FilmRepository, members: any MemberRepository) -> App {
    var dependencies = Dependencies()
    dependencies.register((any FilmRepository).self) { _ in films }
    dependencies.register((any MemberRepository).self) { _ in members }
    return App(
        "cinema", version: 2, root: AppCoordinator.init,
        coordinators: [
            FilmsCoordinator.self, BookingCoordinator.self, TicketsCoordinator.self, AccountCoordinator.self,
            SignInCoordinator.self,
        ], shared: [Membership.self, Bookings.self], dependencies: dependencies)
}

/// Who has signed in.
struct Membership: SharedState {
    static let survivesRelaunch = true
    var name: String?
    var isStaff = false
    var vouchers = 0
}

/// What the user has booked.
struct Bookings: SharedState {
    var items: [Booking] = []
}

struct Booking: Codable, Equatable {
    let film: Int
    let seat: Int
}

/// The tabs.
struct AppCoordinator: Coordinator {
    func start(_ navigator: inout Navigator) {
        navigator.push(
            Screen("cinema"),
            tabs: [
                Tab("films", title: "Films", icon: "film", starting: FilmsCoordinator()),
                Tab("tickets", title: "Tickets", icon: "ticket", starting: TicketsCoordinator()),
                Tab("account", title: "Account", icon: "person", starting: AccountCoordinator()),
            ])
    }

    func render(_ screen: inout Screen, in context: NavigationContext) {
        let count = context.shared[Bookings.self].items.count
        screen.tabs["tickets"]?.badge = count == 0 ? nil : String(count)
    }

    func open(_ link: Link, _ navigator: inout Navigator) -> LinkDecision {
        navigator.dismissPresented()
        navigator.selectTab(link.pattern == AccountCoordinator.salesLink ? "account" : "films")
        return .passedOn
    }
}
