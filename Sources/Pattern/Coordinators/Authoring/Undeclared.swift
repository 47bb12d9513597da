/// The type of every function and list that a coordinator does not declare.
public struct Undeclared: Sendable {
    init() {}
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
