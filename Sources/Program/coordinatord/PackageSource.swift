internal import ArgumentParser
internal import CoordinatorServer
internal import FoundationEssentials

/// Where a new package gets coordinatord from.
enum PackageSource: ExpressibleByArgument {
    /// An absolute path.
    case checkout(String)
    case url(String)

    init?(argument: String) {
        guard !argument.isEmpty else { return nil }
        if argument.contains("://") || argument.hasPrefix("git@") {
            self = .url(argument)
        } else {
            self = .checkout(URL(filePath: argument, directoryHint: .isDirectory).standardizedFileURL.absolutePath)
        }
    }

    /// The checkout that the running program was built in; `nil` if it lies elsewhere.
    static var ownCheckout: PackageSource? {
        guard let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"),
            let build = program.ranges(of: "/.build/").last
        else { return nil }
        let checkout = PackageSource.checkout(String(program[..<build.lowerBound]))
        return checkout.isPlausible ? checkout : nil
    }

    /// Whether a path leads to this package. A URL counts as one that does: only a build of the new package checks it.
    var isPlausible: Bool {
        guard case .checkout(let path) = self else { return true }
        let manifest = try? String(contentsOf: URL(filePath: path + "/Package.swift"), encoding: .utf8)
        return manifest?.contains(#"name: "coordinatord""#) == true
    }

    /// The dependency, as `Package.swift` declares it.
    var declaration: String {
        switch self {
        case .checkout(let path): #".package(name: "coordinatord", path: \#(path.debugDescription))"#
        case .url(let url): #".package(url: \#(url.debugDescription), from: "\#(Release.version)")"#
        }
    }

    /// The name by which `Package.swift` refers to the dependency.
    var identity: String {
        guard case .url(let url) = self else { return "coordinatord" }
        let last = url.split(separator: "/").last.map(String.init) ?? url
        return last.hasSuffix(".git") ? String(last.dropLast(4)) : last
    }
}

extension URL {
    /// The path without a slash at its end.
    fileprivate var absolutePath: String { path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path }
}

/// The name of a new package, and of its program.
struct PackageName {
    let text: String
    /// The name as a Swift identifier: `MyShop` for `my-shop`.
    let module: String

    /// The name as Debian has names of packages: lower case, without `_`, and two characters at least.
    var ofDebianPackage: String {
        let name = text.lowercased().replacing("_", with: "-")
        return name.utf8.count > 1 ? name : name + "-server"
    }

    static func parse(_ text: String) throws -> PackageName {
        let isSpelt = text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) || $0 == "-" || $0 == "_" }
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
