internal import ArgumentParser

/// The name of a new package, and of its program.
struct PackageName {
    let text: String
    /// The name as a Swift identifier: `MyShop` for `my-shop`.
    let module: String

    static func parse(_ text: String) throws -> PackageName {
        let isSpelt = text.utf8.allSatisfy { $0.isLetterOrDigit || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
        guard isSpelt, text.first?.isLetter == true, text.utf8.count <= 64 else {
            throw ValidationError(
                "“\(text)” is no name for a package: write at most 64 letters, digits, - and _, a letter first.")
        }
        let words = text.split { $0 == "-" || $0 == "_" }
        let module = words.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
        guard !taken.contains(module) else {
            throw ValidationError("There is a module \(module) already; choose another name.")
        }
        return PackageName(text: text, module: module)
    }

    /// Modules and types that the package uses, and words that cannot be a module's name.
    private static let taken: Set<String> = [
        "Any", "App", "ArgumentParser", "CoordinatorServer", "Coordinatord", "Coordinators",
        "CoordinatorsTesting", "Dispatch", "Foundation", "FoundationEssentials", "Glibc", "JSONCoding", "Logging",
        "MicroHTTP", "NavigationAPI", "Protocol", "SQLite", "SQLiteStore", "Self", "Server", "Sessions",
        "Sodium", "Swift", "Synchronization", "Testing", "Type", "XCTest",
    ]
}

extension UInt8 {
    fileprivate var isLetterOrDigit: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: false
        }
    }
}
