import CinemaServices
import Coordinators

/// Signing in and out, and what only the staff sees.
struct AccountCoordinator: Coordinator {
    static let dependencies: [any Any.Type] = [(any FilmRepository).self]
    static let salesLink: LinkPattern = "/sales"
    static let links = [salesLink]

    enum Event: NavigationEvent, CaseIterable { case signIn, signOut, sales }

    func start(_ navigator: inout Navigator) {
        navigator.push(Screen("account", title: "Account", events: [Event.signIn, .signOut, .sales]))
    }

    func render(_ screen: inout Screen, in context: NavigationContext) {
        if screen.name == "account" { screen.title = context.shared[Membership.self].name ?? "Account" }
    }

    func isEnabled(_ event: Event, in context: NavigationContext) -> Bool {
        let membership = context.shared[Membership.self]
        return switch event {
        case .signIn: membership.name == nil
        case .signOut: membership.name != nil
        case .sales: membership.isStaff
        }
    }

    func handle(_ event: Event, _ navigator: inout Navigator) {
        switch event {
        case .signIn: navigator.present(SignInCoordinator(), detent: .medium)
        case .signOut:
            navigator.shared[Membership.self] = Membership()
            navigator.shared[Bookings.self] = Bookings()
            navigator.rotateToken(endingOthers: true)
            navigator.popToRoot()
        case .sales: showSales(&navigator)
        }
    }

    /// A link is checked as well: `isEnabled` only guards events.
    func open(_ link: Link, _ navigator: inout Navigator) -> LinkDecision {
        guard link.pattern == AccountCoordinator.salesLink else { return .passedOn }
        if navigator.shared[Membership.self].isStaff {
            showSales(&navigator)
        } else {
            navigator.alert(Alert("Only the staff sees the sales"))
        }
        return .taken
    }

    func content(of screen: Screen, in context: ContentContext) async throws -> JSONObject {
        ["sold": .integer(try await context.resolve((any FilmRepository).self).sales())]
    }

    private func showSales(_ navigator: inout Navigator) {
        navigator.push(
            Screen("sales", title: "Sales", events: [Event](), link: AccountCoordinator.salesLink, hasContent: true),
            onlyIfNew: true)
    }
}

/// A sheet that finishes when the PIN is right.
struct SignInCoordinator: Coordinator {
    static let dependencies: [any Any.Type] = [(any MemberRepository).self]

    enum Event: NavigationEvent {
        case submit(name: String, pin: Secret)
        static let examples: [Event] = [.submit(name: "bob", pin: "1234")]
        var title: String { "Sign in" }
    }

    func start(_ navigator: inout Navigator) {
        navigator.push(Screen("signIn", title: "Sign in"))
    }

    func handle(_ event: Event, _ navigator: inout Navigator) async throws {
        guard case .submit(let name, let pin) = event else { return }
        let members = try navigator.resolve((any MemberRepository).self)
        guard let member = try await members.member(name: name, pin: pin.value) else {
            return navigator.alert(Alert("The name or the PIN is wrong"))
        }
        navigator.shared[Membership.self].name = member.name
        navigator.shared[Membership.self].isStaff = member.isStaff
        navigator.rotateToken(endingOthers: true)
        navigator.finish()
    }
}
