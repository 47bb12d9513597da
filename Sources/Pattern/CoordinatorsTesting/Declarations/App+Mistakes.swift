package import Coordinators

extension App {
    /// The mistakes in the declaration for which a server does not start: `problems`, and in a debug build what only the
    /// compiled program shows: functions that nobody calls, and links that nobody opens.
    package var mistakes: [String] {
        let compiled = coordinatorTypes.map { CompiledCoordinator.of($0) }
        var mistakes = compiled.flatMap(\.misspellings)
        if links.isEmpty {
            for coordinator in compiled where coordinator.opensLinks == true {
                mistakes.append("\(coordinator.name) declares open(_:_:), and no coordinator declares links")
            }
        } else if compiled.allSatisfy({ $0.opensLinks == false }),
            !App.modules(of: [self]).contains(where: CompiledNames.ofProgram.inheritsOpening)
        {
            mistakes.append("its coordinators declare links, such as “\(links[0].text)”, and none declares open(_:_:)")
        }
        return problems + mistakes.map { "app “\(name)”: \($0)" }
    }

    /// The coordinators, with their modules, that no app lists, though a module has others that are listed: the user whose
    /// session starts one gets 500. Only a debug build shows them.
    package static func unlistedCoordinators(in apps: [App]) -> [String] {
        let listed = apps.flatMap(\.coordinatorTypes).map { String(reflecting: $0) }
        let modules = modules(of: apps)
        return CompiledNames.ofProgram.coordinators.filter {
            !listed.contains($0) && modules.contains($0.prefix { $0 != "." })
        }.sorted()
    }

    private static func modules(of apps: [App]) -> Set<Substring> {
        Set(apps.flatMap(\.coordinatorTypes).map { String(reflecting: $0).prefix { $0 != "." } })
    }
}
