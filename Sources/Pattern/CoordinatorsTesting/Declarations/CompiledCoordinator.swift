internal import Coordinators
internal import Synchronization

/// What the compiled program shows of a type of coordinator. Only a debug build shows it: a release build has neither kept
/// the functions that nobody calls, nor those that it has put into their callers.
struct CompiledCoordinator: Sendable {
    let name: String
    /// Whether it declares `open(_:_:)`; `nil` if its functions are not known.
    let opensLinks: Bool?
    /// Sentences about functions that would be called if they were spelt as `Coordinator` has them. Most of those have a
    /// default, so the compiler does not notice that one is missing.
    let misspellings: [String]

    private static let known = Mutex<[ObjectIdentifier: CompiledCoordinator]>([:])

    static func of<C: Coordinator>(_ type: C.Type) -> CompiledCoordinator {
        known.withLock { known in
            if let coordinator = known[ObjectIdentifier(type)] { return coordinator }
            let coordinator = CompiledCoordinator(type)
            known[ObjectIdentifier(type)] = coordinator
            return coordinator
        }
    }

    private init<C: Coordinator>(_ type: C.Type) {
        let declared = CompiledNames.ofProgram.functions(of: type)
        let called = functionsOfCoordinators(type)
        let missing = (called + functionsOfTabs + functionsOfStacks).filter { !declared.contains($0) }
        name = C.name
        opensLinks = declared.isEmpty ? nil : declared.contains { $0.name == "open(_:_:)" && called.contains($0) }
        misspellings = declared.compactMap { function in
            let correction: (declared: String, meant: String)
            if functionsOfTabs.contains(function) {
                if type is any TabBarDelegate.Type { return nil }
                correction = (function.name, "extension \(type): TabBarDelegate")
            } else if functionsOfStacks.contains(function) {
                if type is any StackDelegate.Type { return nil }
                correction = (function.name, "extension \(type): StackDelegate")
            } else if !called.contains(function), let meant = missing.first(where: function.mayMean) {
                correction = function.correction(to: meant)
            } else {
                return nil
            }
            return "\(C.name) declares \(correction.declared), which nobody calls: write \(correction.meant)"
        }.sorted()
    }
}

/// What the engine calls, and a coordinator may leave out.
private func functionsOfCoordinators<C: Coordinator>(_ type: C.Type) -> [DeclaredFunction] {
    [
        "isEnabled(_: \(C.Event.self), in: NavigationContext)", "title(of: \(C.Event.self), in: NavigationContext)",
        "fields(of: \(C.Event.self), in: NavigationContext)", "accepts(_: \(C.Signal.self))",
        "render(_: inout Screen, in: NavigationContext)", "content(of: Screen, in: ContentContext)",
        "shouldLeave(_: Screen, in: NavigationContext)", "open(_: Link, _: inout Navigator)",
        "childDidFinish(_: Coordinator, _: inout Navigator)", "childWasDismissed(_: Coordinator, _: inout Navigator)",
        "childDidDeliver(_: Sendable, from: Coordinator, _: inout Navigator)",
        "static retries(_: \(C.Effect.self))", "effectDidFail(_: \(C.Effect.self), _: Error, _: inout Navigator)",
        "willBeRemoved(_: RemovalReason, in: EffectContext)", "deviceDidPair(_: PairedDevice, _: inout Navigator)",
        "static migrate(_: JSON, from: Int)", "static migrate(_: Screen, from: Int)",
        "static migrate(_: SavedWork, from: Int)",
    ].map { DeclaredFunction($0)! }
}

private let functionsOfTabs = ["shouldSelectTab", "didSelectTab"].map {
    DeclaredFunction("\($0)(_: String, _: inout Navigator)")!
}
private let functionsOfStacks = [DeclaredFunction("screenWasRemoved(_: Screen, _: inout Navigator)")!]

extension CompiledNames {
    /// Empty if they are not known.
    fileprivate func functions<C: Coordinator>(of type: C.Type) -> [DeclaredFunction] {
        guard let mangled = _mangledTypeName(type) else { return [] }
        let (prefix, modifier) = ("$s\(mangled)", "static ")
        return functions.filter { $0.hasPrefix(prefix) }.compactMap { name in
            guard let text = CompiledNames.spelledOut(name) else { return nil }
            // `Shop.Cart.render(…)`, or `static Shop.Cart.migrate(…)`.
            let isStatic = text.hasPrefix(modifier)
            let (function, type) = (text.dropFirst(isStatic ? modifier.count : 0), "\(String(reflecting: type)).")
            guard function.hasPrefix(type) else { return nil }
            return DeclaredFunction((isStatic ? modifier : "") + function.dropFirst(type.count))
        }
    }

    /// Whether a protocol of that module has `open(_:_:)` for those that conform to it.
    func inheritsOpening(in module: Substring) -> Bool {
        functions.contains { $0.hasPrefix("$s\(module.utf8.count)\(module)") && $0.contains("E4openy") }
    }

    /// The types that conform to `Coordinator`, with their modules; neither private nor generic ones.
    var coordinators: [String] {
        let (before, after) = ("protocol conformance descriptor for ", " : Coordinators.Coordinator in ")
        return conformances.compactMap { name in
            guard let text = CompiledNames.spelledOut(name), text.hasPrefix(before),
                let end = text.firstRange(of: after)?.lowerBound
            else { return nil }
            let type = text[..<end].dropFirst(before.count)
            return type.contains { "(<".contains($0) } ? nil : String(type)
        }
    }
}
