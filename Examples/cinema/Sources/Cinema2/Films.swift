import CinemaServices
import Coordinators

/// The list of films, and a film's page.
struct FilmsCoordinator: Coordinator {
    static let dependencies: [any Any.Type] = [(any FilmRepository).self]
    static let filmLink: LinkPattern = "/films/{id:integer}"
    static let links = [filmLink]
    static let blank = Self()

    enum Event: NavigationEvent {
        case film(id: Int)
        case book
        static let examples: [Event] = [.film(id: 1), .book]
    }

    /// The film to book after the sign-in.
    private var wanted: Int?
    /// The films that the user has looked at, the last one first.
    private var recent: [Int] = []

    func start(_ navigator: inout Navigator) async throws {
        let films = try await navigator.resolve((any FilmRepository).self).films()
        let list = films.map { film -> JSON in ["id": .integer(film.id), "title": .string(film.title)] }
        navigator.push(Screen("films", title: "Films", params: ["films": .array(list)], events: ["film"]))
    }

    func render(_ screen: inout Screen, in context: NavigationContext) {
        switch screen.name {
        case "films": screen.params["recent"] = .array(recent.map { .integer($0) })
        case "film": screen.events = [Control("Book a seat", role: .primary, sends: Event.book)]
        default: break
        }
    }

    /// Version 1 called the screen of a film “detail”.
    static func migrate(_ screen: Screen, from version: Int) -> Screen? {
        var screen = screen
        if screen.name == "detail" { screen.name = "film" }
        return screen
    }

    mutating func handle(_ event: Event, _ navigator: inout Navigator) async throws {
        switch event {
        case .film(let id): try await show(id, &navigator)
        case .book:
            guard let film = navigator.visible?.params["id"]?.integer else { return }
            if navigator.shared[Membership.self].name == nil {
                wanted = film
                navigator.present(SignInCoordinator(), detent: .medium)
            } else {
                navigator.present(BookingCoordinator(film: film), as: .fullScreen, isDismissable: true)
            }
        }
    }

    mutating func childDidFinish(_ child: any Coordinator, _ navigator: inout Navigator) {
        switch child {
        case is SignInCoordinator:
            if let wanted { navigator.present(BookingCoordinator(film: wanted), as: .fullScreen, isDismissable: true) }
            wanted = nil
        case let flow as BookingCoordinator:
            if let booking = flow.booking { navigator.shared[Bookings.self].items.append(booking) }
        default: break
        }
    }

    mutating func childWasDismissed(_ child: any Coordinator, _ navigator: inout Navigator) {
        wanted = nil
    }

    func content(of screen: Screen, in context: ContentContext) async throws -> JSONObject {
        let film = try await context.resolve((any FilmRepository).self).film(screen.params["id"]?.integer ?? 0)
        return ["synopsis": .string(film?.synopsis ?? "")]
    }

    mutating func open(_ link: Link, _ navigator: inout Navigator) async throws -> LinkDecision {
        guard let id = link.integer("id") else { return .passedOn }
        navigator.popToRoot()
        try await show(id, &navigator)
        return .taken
    }

    private mutating func show(_ id: Int, _ navigator: inout Navigator) async throws {
        guard let film = try await navigator.resolve((any FilmRepository).self).film(id) else {
            return navigator.alert(Alert("There is no such film"))
        }
        recent = [id] + recent.filter { $0 != id }.prefix(4)
        navigator.push(
            Screen(
                "film", title: film.title, params: ["id": .integer(id)], link: FilmsCoordinator.filmLink,
                hasContent: true))
    }
}
