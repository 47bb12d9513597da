internal import ArgumentParser
internal import CFiles
internal import CoordinatorServer
internal import FoundationEssentials
internal import Glibc

/// `new`: writes a package for an app of an author's own, from the files in `CFiles/Template`.
struct NewCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "new", abstract: "Writes a package for an app of your own.",
        discussion: """
            Makes the directory NAME with a package that builds, serves and has tests. docs/authoring.md goes on from \
            there.
            """)

    @Argument(
        help: """
            The name of the package and of its program: letters, digits, - and _, and a letter first. Its module is \
            named alike: MyShop for my-shop.
            """, transform: PackageName.parse)
    var name: PackageName

    @Option(
        name: .customLong("package"),
        help: ArgumentHelp(
            "Where the package gets coordinatord from. (default: the checkout that this program was built in)",
            valueName: "path-or-url"))
    var source: PackageSource?

    func run() throws {
        guard let source = source ?? PackageSource.ownCheckout else {
            throw ValidationError(
                """
                Say with --package where coordinatord is, as a path or a URL: this program does not lie in the \
                checkout that it was built in.
                """)
        }
        guard source.isPlausible else {
            throw ValidationError("--package must be a checkout of coordinatord, or its URL.")
        }
        guard mkdir(name.text, 0o777) == 0 else { throw cannotCreate(name.text) }
        let package = NewPackage(name: name, source: source)
        for file in package.files { try write(file) }
        print("\(name.text): `swift run \(name.text) serve` in this directory serves the app; README.md says more.")
    }

    private func write(_ file: NewPackage.File) throws {
        let path = "\(name.text)/\(file.path)"
        do {
            try FileManager.default.createDirectory(
                at: URL(filePath: path).deletingLastPathComponent(), withIntermediateDirectories: true)
            try file.content.write(to: URL(filePath: path), atomically: false, encoding: .utf8)
            guard !file.isProgram || chmod(path, 0o755) == 0 else { throw cannotCreate(path) }
        } catch {
            throw cannotCreate(path)
        }
    }

    /// - Returns: the exit code, after printing the reason that `errno` gives.
    private func cannotCreate(_ path: String) -> ExitCode {
        let reason = errno == EEXIST ? "there is one already" : String.systemError()
        return .cannotStart(EX_CANTCREAT, "\(path) cannot be created: \(reason)")
    }
}

/// The files of a new package.
struct NewPackage {
    struct File {
        let path: String
        let content: String
        let isProgram: Bool
    }

    let name: PackageName
    let source: PackageSource

    var files: [File] {
        [
            file("Package.swift", "Package.swift"),
            file("Sources/\(name.module)/App.swift", "App.swift"),
            file("Sources/\(name.module)/Server.swift", "Server.swift"),
            file("Tests/\(name.module)Tests/AppTests.swift", "AppTests.swift"),
            file("README.md", "README.md"),
            file("Dockerfile", "Dockerfile"),
            file(".dockerignore", "dockerignore"),
            file(".gitignore", "gitignore"),
            file("deploy/\(name.text).service", "service"),
            file("deploy/package", "package", isProgram: true),
            file("Scripts/watch", "watch", isProgram: true),
        ]
    }

    private func file(_ path: String, _ template: String, isProgram: Bool = false) -> File {
        let values = [
            "__NAME__": name.text, "__MODULE__": name.module, "__DEBIAN__": name.ofDebianPackage,
            "__DEPENDENCY__": source.declaration,
            "__IDENTITY__": source.identity, "__CONTEXT__": context, "__VERSION__": Release.version,
            "__DOCKER_BUILD__": dockerBuild,
        ]
        let content = CFiles_find("Template/\(template)")
        let bytes = UnsafeBufferPointer(start: content.bytes, count: content.count)
        let text = values.reduce(String(decoding: bytes, as: UTF8.self)) { text, value in
            text.replacing(value.key, with: value.value)
        }
        return File(path: path, content: text, isProgram: isProgram)
    }

    /// What the image's build needs before it can read `Package.swift`.
    private var context: String {
        guard case .checkout(let path) = source else { return "" }
        return """
            # Package.swift names the directory of coordinatord.
            COPY --from=coordinatord . \(path)

            """
    }

    /// The commands that build the package's image, after the image that it is based on.
    private var dockerBuild: String {
        let (origin, context) =
            switch source {
            case .checkout(let path): (path, "--build-context coordinatord=\(path) ")
            // Docker treats a URL with this end as a repository.
            case .url(let url): ("\(url.hasSuffix(".git") ? url : url + ".git")#\(Release.version)", "")
            }
        return """
            docker build --target runtime -t coordinatord-runtime:\(Release.version) \(origin)
            docker build \(context)-t \(name.ofDebianPackage) .
            """
    }
}
