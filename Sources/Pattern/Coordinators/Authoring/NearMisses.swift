public import JSONCoding

/// Misspelt functions of a `Coordinator`, which nobody calls: each is one of its functions with another label, or
/// without the navigator. Most functions of a coordinator may be left out, so the compiler does not notice a misspelt
/// one.
///
/// Swift infers each associated type from the result of the function that a coordinator declares. If a coordinator
/// declares one of these functions, the function's associated type is not `Undeclared`, and `App.problems` names the
/// function. A misspelt function that is private does not compile, because it matches a requirement of this protocol.
///
/// Some mistakes are not noticed, because a coordinator may well have such functions and call them itself: another base
/// name, `childDidFinish` for one type of child instead of `any Coordinator`, and `childDidDeliver` for one type of value
/// instead of `any Sendable`. The last one is an error as soon as a child delivers.
public protocol NearMisses {
    associatedtype FinishNearMiss = Undeclared
    associatedtype BareFinishNearMiss = Undeclared
    associatedtype DismissalNearMiss = Undeclared
    associatedtype BareDismissalNearMiss = Undeclared
    associatedtype DrawingNearMiss = Undeclared
    associatedtype BareDrawingNearMiss = Undeclared
    associatedtype ContentNearMiss = Undeclared
    associatedtype LeavingNearMiss = Undeclared
    associatedtype BareLeavingNearMiss = Undeclared
    associatedtype OpeningNearMiss = Undeclared
    associatedtype MigrationNearMiss = Undeclared
    associatedtype ScreenMigrationNearMiss = Undeclared
    associatedtype WorkMigrationNearMiss = Undeclared
    associatedtype TabNearMiss = Undeclared
    associatedtype TabSelectionNearMiss = Undeclared
    associatedtype TabQuestion = Undeclared
    associatedtype TabSelection = Undeclared
    associatedtype DeliveryNearMiss = Undeclared
    associatedtype BareDeliveryNearMiss = Undeclared
    associatedtype StrayDeliveryNearMiss = Undeclared
    associatedtype ScreenRemoval = Undeclared
    associatedtype ScreenRemovalNearMiss = Undeclared
    associatedtype BareScreenRemovalNearMiss = Undeclared
    associatedtype RemovalNearMiss = Undeclared
    associatedtype BareRemovalNearMiss = Undeclared
    associatedtype RemovalContextNearMiss = Undeclared
    associatedtype RemovalNavigatorNearMiss = Undeclared
    associatedtype PairingNearMiss = Undeclared
    associatedtype BarePairingNearMiss = Undeclared

    @available(*, deprecated, message: "write childDidFinish(_:_:)")
    mutating func childDidFinish(_: any Coordinator, navigator: inout Navigator) async throws -> FinishNearMiss
    @available(*, deprecated, message: "write childDidFinish(_:_:)")
    mutating func childDidFinish(_: any Coordinator) async throws -> BareFinishNearMiss
    @available(*, deprecated, message: "write childWasDismissed(_:_:)")
    mutating func childWasDismissed(_: any Coordinator, navigator: inout Navigator) async throws -> DismissalNearMiss
    @available(*, deprecated, message: "write childWasDismissed(_:_:)")
    mutating func childWasDismissed(_: any Coordinator) async throws -> BareDismissalNearMiss
    @available(*, deprecated, message: "write render(_:in:)")
    mutating func render(_: inout Screen, context: NavigationContext) async throws -> DrawingNearMiss
    @available(*, deprecated, message: "write render(_:in:)")
    mutating func render(_: inout Screen, _: NavigationContext) async throws -> BareDrawingNearMiss
    @available(*, deprecated, message: "write content(of:in:)")
    mutating func content(of _: Screen, context: ContentContext) async throws -> ContentNearMiss
    @available(*, deprecated, message: "write shouldLeave(_:in:)")
    mutating func shouldLeave(_: Screen, context: NavigationContext) async throws -> LeavingNearMiss
    @available(*, deprecated, message: "write shouldLeave(_:in:)")
    mutating func shouldLeave(_: Screen, _: NavigationContext) async throws -> BareLeavingNearMiss
    @available(*, deprecated, message: "write open(_:_:)")
    mutating func open(_: Link, navigator: inout Navigator) async throws -> OpeningNearMiss
    @available(*, deprecated, message: "write migrate(_:from:)")
    static func migrate(_: JSON, version: Int) throws -> MigrationNearMiss
    @available(*, deprecated, message: "write migrate(_:from:)")
    static func migrate(_: Screen, version: Int) throws -> ScreenMigrationNearMiss
    @available(*, deprecated, message: "write migrate(_:from:)")
    static func migrate(_: SavedWork, version: Int) throws -> WorkMigrationNearMiss
    @available(*, deprecated, message: "write shouldSelectTab(_:_:)")
    mutating func shouldSelectTab(_: String, navigator: inout Navigator) async throws -> TabNearMiss
    @available(*, deprecated, message: "write didSelectTab(_:_:)")
    mutating func didSelectTab(_: String, navigator: inout Navigator) async throws -> TabSelectionNearMiss
    /// Only a `TabBarDelegate` has it.
    mutating func shouldSelectTab(_: String, _: inout Navigator) async throws -> TabQuestion
    /// Only a `TabBarDelegate` has it.
    mutating func didSelectTab(_: String, _: inout Navigator) async throws -> TabSelection
    @available(*, deprecated, message: "write childDidDeliver(_:from:_:)")
    mutating func childDidDeliver(
        _: any Sendable, from _: any Coordinator, navigator: inout Navigator
    ) async throws -> DeliveryNearMiss
    @available(*, deprecated, message: "write childDidDeliver(_:from:_:)")
    mutating func childDidDeliver(_: any Sendable, from _: any Coordinator) async throws -> BareDeliveryNearMiss
    @available(*, deprecated, message: "write childDidDeliver(_:from:_:)")
    mutating func childDidDeliver(_: any Sendable, _: inout Navigator) async throws -> StrayDeliveryNearMiss
    /// Only a `StackDelegate` has it.
    mutating func screenWasRemoved(_: Screen, _: inout Navigator) async throws -> ScreenRemoval
    @available(*, deprecated, message: "write screenWasRemoved(_:_:)")
    mutating func screenWasRemoved(_: Screen, navigator: inout Navigator) async throws -> ScreenRemovalNearMiss
    @available(*, deprecated, message: "write screenWasRemoved(_:_:)")
    mutating func screenWasRemoved(_: Screen) async throws -> BareScreenRemovalNearMiss
    @available(*, deprecated, message: "write willBeRemoved(_:in:)")
    func willBeRemoved(_: RemovalReason, context: EffectContext) async throws -> RemovalNearMiss
    @available(*, deprecated, message: "write willBeRemoved(_:in:)")
    func willBeRemoved(_: RemovalReason, _: EffectContext) async throws -> BareRemovalNearMiss
    @available(*, deprecated, message: "write willBeRemoved(_:in:), in an EffectContext")
    mutating func willBeRemoved(_: RemovalReason, in _: NavigationContext) async throws -> RemovalContextNearMiss
    @available(*, deprecated, message: "write willBeRemoved(_:in:), in an EffectContext")
    mutating func willBeRemoved(_: RemovalReason, _: inout Navigator) async throws -> RemovalNavigatorNearMiss
    @available(*, deprecated, message: "write deviceDidPair(_:_:)")
    mutating func deviceDidPair(_: PairedDevice, navigator: inout Navigator) async throws -> PairingNearMiss
    @available(*, deprecated, message: "write deviceDidPair(_:_:)")
    mutating func deviceDidPair(_: PairedDevice) async throws -> BarePairingNearMiss
}

/// The type of every function and list that a coordinator does not declare.
public struct Undeclared: Sendable {
    init() {}
}

extension NearMisses {
    public mutating func childDidFinish(_: any Coordinator, navigator: inout Navigator) -> Undeclared { .init() }
    public mutating func childDidFinish(_: any Coordinator) -> Undeclared { .init() }
    public mutating func childWasDismissed(_: any Coordinator, navigator: inout Navigator) -> Undeclared { .init() }
    public mutating func childWasDismissed(_: any Coordinator) -> Undeclared { .init() }
    public mutating func render(_: inout Screen, context: NavigationContext) -> Undeclared { .init() }
    public mutating func render(_: inout Screen, _: NavigationContext) -> Undeclared { .init() }
    public mutating func content(of _: Screen, context: ContentContext) -> Undeclared { .init() }
    public mutating func shouldLeave(_: Screen, context: NavigationContext) -> Undeclared { .init() }
    public mutating func shouldLeave(_: Screen, _: NavigationContext) -> Undeclared { .init() }
    public mutating func open(_: Link, navigator: inout Navigator) -> Undeclared { .init() }
    public static func migrate(_: JSON, version: Int) -> Undeclared { .init() }
    public static func migrate(_: Screen, version: Int) -> Undeclared { .init() }
    public static func migrate(_: SavedWork, version: Int) -> Undeclared { .init() }
    public mutating func shouldSelectTab(_: String, navigator: inout Navigator) -> Undeclared { .init() }
    public mutating func didSelectTab(_: String, navigator: inout Navigator) -> Undeclared { .init() }
    public mutating func shouldSelectTab(_: String, _: inout Navigator) -> Undeclared { .init() }
    public mutating func didSelectTab(_: String, _: inout Navigator) -> Undeclared { .init() }
    public mutating func childDidDeliver(
        _: any Sendable, from _: any Coordinator, navigator: inout Navigator
    ) -> Undeclared { .init() }
    public mutating func childDidDeliver(_: any Sendable, from _: any Coordinator) -> Undeclared { .init() }
    public mutating func childDidDeliver(_: any Sendable, _: inout Navigator) -> Undeclared { .init() }
    public mutating func screenWasRemoved(_: Screen, _: inout Navigator) -> Undeclared { .init() }
    public mutating func screenWasRemoved(_: Screen, navigator: inout Navigator) -> Undeclared { .init() }
    public mutating func screenWasRemoved(_: Screen) -> Undeclared { .init() }
    public func willBeRemoved(_: RemovalReason, context: EffectContext) -> Undeclared { .init() }
    public func willBeRemoved(_: RemovalReason, _: EffectContext) -> Undeclared { .init() }
    public mutating func willBeRemoved(_: RemovalReason, in _: NavigationContext) -> Undeclared { .init() }
    public mutating func willBeRemoved(_: RemovalReason, _: inout Navigator) -> Undeclared { .init() }
    public mutating func deviceDidPair(_: PairedDevice, navigator: inout Navigator) -> Undeclared { .init() }
    public mutating func deviceDidPair(_: PairedDevice) -> Undeclared { .init() }
}

extension Coordinator {
    /// The declared functions that nobody calls, each with what its author probably meant.
    static var nearMisses: [String] {
        let isDelegate = self is any TabBarDelegate.Type
        let tabBarDelegate = "extension \(self): TabBarDelegate"
        let suspects: [(type: any Any.Type, declared: String, meant: String)] = [
            (FinishNearMiss.self, "childDidFinish(_:navigator:)", "childDidFinish(_:_:)"),
            (BareFinishNearMiss.self, "childDidFinish(_:)", "childDidFinish(_:_:)"),
            (DismissalNearMiss.self, "childWasDismissed(_:navigator:)", "childWasDismissed(_:_:)"),
            (BareDismissalNearMiss.self, "childWasDismissed(_:)", "childWasDismissed(_:_:)"),
            (EnablingNearMiss.self, "isEnabled(_:context:)", "isEnabled(_:in:)"),
            (BareEnablingNearMiss.self, "isEnabled(_:_:)", "isEnabled(_:in:)"),
            (TitleNearMiss.self, "title(of:context:)", "title(of:in:)"),
            (MislabelledTitleNearMiss.self, "title(for:in:)", "title(of:in:)"),
            (FieldsNearMiss.self, "fields(of:context:)", "fields(of:in:)"),
            (MislabelledFieldsNearMiss.self, "fields(for:in:)", "fields(of:in:)"),
            (DrawingNearMiss.self, "render(_:context:)", "render(_:in:)"),
            (BareDrawingNearMiss.self, "render(_:_:)", "render(_:in:)"),
            (ContentNearMiss.self, "content(of:context:)", "content(of:in:)"),
            (LeavingNearMiss.self, "shouldLeave(_:context:)", "shouldLeave(_:in:)"),
            (BareLeavingNearMiss.self, "shouldLeave(_:_:)", "shouldLeave(_:in:)"),
            (OpeningNearMiss.self, "open(_:navigator:)", "open(_:_:)"),
            (MigrationNearMiss.self, "migrate(_:version:)", "migrate(_:from:)"),
            (ScreenMigrationNearMiss.self, "migrate(_:version:)", "migrate(_:from:)"),
            (WorkMigrationNearMiss.self, "migrate(_:version:)", "migrate(_:from:)"),
            (BoundRetriesNearMiss.self, "retries(_:)", "static func retries(_:)"),
            (RetriesNearMiss.self, "retries(for:)", "retries(_:)"),
            (FailureNearMiss.self, "effectDidFail(_:_:navigator:)", "effectDidFail(_:_:_:)"),
            (BareFailureNearMiss.self, "effectDidFail(_:_:)", "effectDidFail(_:_:_:)"),
            (TabNearMiss.self, "shouldSelectTab(_:navigator:)", "shouldSelectTab(_:_:)"),
            (TabSelectionNearMiss.self, "didSelectTab(_:navigator:)", "didSelectTab(_:_:)"),
            (isDelegate ? Undeclared.self : TabQuestion.self, "shouldSelectTab(_:_:)", tabBarDelegate),
            (isDelegate ? Undeclared.self : TabSelection.self, "didSelectTab(_:_:)", tabBarDelegate),
            (DeliveryNearMiss.self, "childDidDeliver(_:from:navigator:)", "childDidDeliver(_:from:_:)"),
            (BareDeliveryNearMiss.self, "childDidDeliver(_:from:)", "childDidDeliver(_:from:_:)"),
            (StrayDeliveryNearMiss.self, "childDidDeliver(_:_:)", "childDidDeliver(_:from:_:)"),
            (ScreenRemovalNearMiss.self, "screenWasRemoved(_:navigator:)", "screenWasRemoved(_:_:)"),
            (BareScreenRemovalNearMiss.self, "screenWasRemoved(_:)", "screenWasRemoved(_:_:)"),
            (
                self is any StackDelegate.Type ? Undeclared.self : ScreenRemoval.self, "screenWasRemoved(_:_:)",
                "extension \(self): StackDelegate"
            ),
            (RemovalNearMiss.self, "willBeRemoved(_:context:)", "willBeRemoved(_:in:)"),
            (BareRemovalNearMiss.self, "willBeRemoved(_:_:)", "willBeRemoved(_:in:)"),
            (
                RemovalContextNearMiss.self, "willBeRemoved(_:in:) for a NavigationContext",
                "willBeRemoved(_:in:) for an EffectContext"
            ),
            (RemovalNavigatorNearMiss.self, "willBeRemoved(_:_:) for a Navigator", "willBeRemoved(_:in:)"),
            (PairingNearMiss.self, "deviceDidPair(_:navigator:)", "deviceDidPair(_:_:)"),
            (BarePairingNearMiss.self, "deviceDidPair(_:)", "deviceDidPair(_:_:)"),
        ]
        return suspects.filter { $0.type != Undeclared.self }.map {
            "\(name) declares \($0.declared), which nobody calls: write \($0.meant)"
        }
    }
}

// The three lists, also if they were declared without a type: `["/a"]` is then an array of strings, and counts as a
// list of patterns.
extension Coordinator {
    /// - Returns: `nil` if what is declared as `dependencies` is no list of types.
    static var dependencyTypes: [any Any.Type]? {
        dependencies is Undeclared ? [] : dependencies as? [any Any.Type]
    }

    /// - Returns: `nil` if what is declared as `links` is no list of patterns.
    static var linkPatterns: [LinkPattern]? {
        if links is Undeclared { return [] }
        return links as? [LinkPattern] ?? (links as? [String])?.map { LinkPattern($0) }
    }

    /// The names of the events that are accepted everywhere.
    ///
    /// - Returns: `nil` if what is declared as `everywhere` is no list of events.
    static var eventsEverywhere: [String]? {
        if everywhere is Undeclared { return [] }
        return (everywhere as? [Event])?.compactMap { EncodedEvent($0)?.name } ?? everywhere as? [String]
    }

    /// The former names of events, with their present ones.
    ///
    /// - Returns: `nil` if what is declared as `aliases` is no dictionary of names.
    static var eventAliases: [String: String]? {
        let aliases = Event.aliases
        return aliases is Undeclared ? [:] : aliases as? [String: String]
    }

    /// The declared kinds of screens.
    ///
    /// - Returns: `nil` if what is declared as `screens` is no list of them.
    static var screenTypes: [ScreenType]? {
        screens is Undeclared ? [] : screens as? [ScreenType]
    }

    /// The signals that other systems may send.
    ///
    /// - Returns: `nil` if what is declared as `external` is no list of signals.
    static var externalSignals: [Signal]? {
        let signals = Signal.external
        return signals is Undeclared ? [] : signals as? [Signal]
    }

    /// The problems of the lists that are declared with another type.
    static var unfitLists: [String] {
        let problem = { (list: String, type: String) in
            let declared = list.split(separator: ".").last ?? ""
            return "\(name).\(list) is no list of them: write “static let \(declared): [\(type)] = […]”"
        }
        var problems: [String] = []
        if dependencyTypes == nil { problems.append(problem("dependencies", "any Any.Type")) }
        if linkPatterns == nil { problems.append(problem("links", "LinkPattern")) }
        if eventsEverywhere == nil { problems.append(problem("everywhere", "Event")) }
        if screenTypes == nil { problems.append(problem("screens", "ScreenType")) }
        if externalSignals == nil { problems.append(problem("Signal.external", "Signal")) }
        if eventAliases == nil {
            problems.append(#"\#(name).Event.aliases must be a [String: String]: ["former name": "present name"]"#)
        }
        if FieldList.self != Undeclared.self, FieldList.self != [Field].self {
            problems.append("\(name).fields(of:in:) must return [Field]")
        }
        return problems
    }
}
