// A session may have several devices, of one user or of several: each sees its own drawing of the state, and does what its
// role may do.

/// What a device may do in a session. An app that tells devices apart declares its roles, the first of which is that of the
/// device that opens a session:
///
/// ```swift
/// extension DeviceRole {
///     static let customer = DeviceRole("customer", gives: ["display"])
///     static let agent = DeviceRole("agent")
///     static let display = DeviceRole("display", mayAct: false)
/// }
/// ```
///
/// Roles of one name are equal.
public final class DeviceRole: Sendable {
    /// What clients call it: 1 to 32 letters, digits, hyphens and underscores of ASCII.
    public let name: String
    /// Whether its devices may post events. Those that may not only look, and describe themselves: they also fork, end and pair
    /// nothing.
    public let mayAct: Bool
    /// The names of the roles that its devices may give over HTTP to devices that they pair, besides their own. An app gives
    /// any role, see `Navigator.requestPairingCode`.
    public let gives: [String]
    /// Whether its devices may revoke others, fork the session and end it over HTTP, where each may revoke itself, and the only
    /// one that is left may end the session.
    public let mayEndOthers: Bool

    public init(_ name: String, mayAct: Bool = true, gives: [String] = [], mayEndOthers: Bool = true) {
        self.name = name
        self.mayAct = mayAct
        self.gives = gives
        self.mayEndOthers = mayAct && mayEndOthers
    }

    /// Whether a device of this role may give that one to another device.
    package func mayGive(_ role: String?) -> Bool {
        mayAct && (role == nil || role == name || gives.contains(role ?? ""))
    }

    fileprivate var hasPlainName: Bool {
        (1...32).contains(name.utf8.count)
            && name.utf8.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || "-_".utf8.contains($0) }
    }
}

extension DeviceRole: Hashable {
    public static func == (left: DeviceRole, right: DeviceRole) -> Bool { left === right || left.name == right.name }
    public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

extension [DeviceRole] {
    /// Whether devices of a role are among those meant; an empty list means all.
    func includes(_ role: DeviceRole?) -> Bool { isEmpty || role.map(contains) ?? true }
}

/// One of the devices that use a session.
public struct Device: Sendable, Equatable {
    /// Identifies the device within its session, from 1.
    public let number: Int
    /// What it is called; `nil` if nobody has said so.
    public let label: String?
    /// `nil` if the app declares no roles.
    public let role: DeviceRole?
    /// What it says about itself.
    public let client: ClientInfo

    public init(_ number: Int, label: String? = nil, role: DeviceRole? = nil, _ client: ClientInfo) {
        self.number = number
        self.label = label
        self.role = role
        self.client = client
    }

    /// Whether both are drawn alike, because they say the same about themselves and have the same role.
    package func seesTheSame(as other: Device) -> Bool { client == other.client && role == other.role }
}

/// A device that was paired with a session, and now uses it beside the others; see `Coordinator.deviceDidPair`.
public struct PairedDevice: Sendable, Equatable {
    /// Identifies it within the session, see `Navigator.revokeDevice`.
    public let number: Int
    /// What it is called: given with the pairing code, or by the device itself.
    public let label: String?
    /// `nil` if the app declares no roles.
    public let role: DeviceRole?
    /// What it says about itself.
    public let client: ClientInfo
    public let pairedAt: Date

    public init(
        _ number: Int = 2, label: String?, role: DeviceRole? = nil, client: ClientInfo? = nil, pairedAt: Date
    ) {
        self.number = number
        self.label = label
        self.role = role
        self.client = client ?? .none
        self.pairedAt = pairedAt
    }

    /// What a label may be: 1 to 64 characters (Unicode scalars), without control characters.
    public static func isLabel(_ text: String) -> Bool {
        (1...64).contains(text.unicodeScalars.count)
            && !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
    }
}

/// A coordinator has asked for a pairing code, see `Navigator.requestPairingCode`.
public struct PairingRequest: Sendable, Equatable {
    /// What the other device is to be called.
    public let label: String?
    /// The name of the role that it gets; `nil` if the device may choose among those that the acting one may give.
    public let role: String?

    package init(label: String?, role: String? = nil) {
        self.label = label
        self.role = role
    }
}

extension App {
    /// The role of that name. One that the app no longer declares may only look.
    ///
    /// - Parameter name: `nil` for the role of the device that opens a session.
    /// - Returns: `nil` if there is no name, and the app declares no roles.
    package func role(_ name: String?) -> DeviceRole? {
        guard let name else { return roles.first }
        return roles.first { $0.name == name } ?? DeviceRole(name, mayAct: false)
    }

    static func problems(of roles: [DeviceRole], _ types: [CoordinatorType]) -> [String] {
        var problems: [String] = []
        for (index, role) in roles.enumerated() {
            if !role.hasPlainName {
                problems.append("the role “\(role.name)” must have 1 to 32 letters, digits, hyphens and underscores")
            }
            if roles[..<index].contains(role) { problems.append("two roles are named “\(role.name)”") }
            for other in role.gives where !roles.contains(where: { $0.name == other }) {
                problems.append("the role “\(role.name)” gives “\(other)”, which is no role")
            }
        }
        if roles.first?.mayAct == false { problems.append("the first role must be one that may act") }
        for type in types {
            for event in type.events {
                for role in event.roles where !roles.contains(role) {
                    problems.append("\(type.name).Event: “\(event.name)” is for “\(role.name)”, which is no role")
                }
            }
        }
        return problems
    }

    /// The state as a device sees it. It is no other version of the state: only what coordinators draw differs, and which
    /// events they accept.
    ///
    /// - Throws: if a coordinator draws for this device what no screen may have.
    package func drawing(of state: NavigationState, for device: Device) throws(NavigationError) -> NavigationState {
        guard !state.isDrawn(for: device) else { return state }
        var run = TransitionRun(of: self, on: state, at: Date(timeIntervalSince1970: 0), event: nil)
        run.state.show(to: device)
        _ = try run.redraw(run.state.screens)
        return run.state
    }
}

/// What of a device decides about what it sees.
final class Viewer: Sendable, Equatable {
    let client: ClientInfo
    /// `nil` if the app declares no roles.
    let role: DeviceRole?

    static let none = Viewer(.none, nil)

    init(_ client: ClientInfo, _ role: DeviceRole?) {
        self.client = client
        self.role = role
    }

    static func == (left: Viewer, right: Viewer) -> Bool {
        left === right || left.client == right.client && left.role == right.role
    }
}

extension NavigationState {
    package func isDrawn(for device: Device) -> Bool { client == device.client && role == device.role }

    /// From then on the state is one for the device, whose drawing has to be made.
    mutating func show(to device: Device) { viewer = Viewer(device.client, device.role) }

    /// Whether the device that the state is drawn for may only look at what is visible: by its role, or because the screen is
    /// for others.
    var isOnlyShown: Bool {
        guard let role else { return false }
        return !role.mayAct || visible.map { !$0.screen.roles.includes(role) } ?? false
    }

    /// The refusal of what the device that the state is drawn for may not do.
    var notForRole: NavigationError { .notForRole(role?.name ?? "") }

    /// Whether the device that the state is drawn for may press the button: whether it may do anything, and the button's event
    /// is for its role.
    package func mayPress(_ button: AlertButton, of alert: PresentedAlert) -> Bool {
        guard role != nil else { return true }
        guard !isOnlyShown else { return false }
        return button.event.flatMap { self[alert.coordinator]?.type.isForRole($0, role) } ?? true
    }

    /// The buttons of the alert that this device may press.
    package var buttonsToPress: [AlertButton] {
        alert.map { alert in alert.alert.buttons.filter { mayPress($0, of: alert) } } ?? []
    }
}

extension Navigator {
    /// The device that acts; `nil` if none does: in the first transition, for a signal, an effect or a timer, and for an event
    /// of the operator.
    public var device: Device? { origin.devices.acting }

    /// The session's devices before the transition, in the order in which they came.
    public var devices: [Device] { origin.devices.all }
}
