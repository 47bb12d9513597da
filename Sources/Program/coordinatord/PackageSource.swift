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
