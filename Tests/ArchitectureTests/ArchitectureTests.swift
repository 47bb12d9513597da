import Foundation
import Testing

/// The arrows of the design: what the sources of each target may import.
@Suite struct Architecture {
    static let allowed: [String: Set<String>] = [
        // Foundation where there is no FoundationEssentials.
        "JSONCoding": ["FoundationEssentials", "Foundation"],
        "ByteText": [],
        "Measures": ["Glibc", "Synchronization"],
        "Prometheus": ["Measures", "CoreMetrics", "Synchronization"],
        "OpenTelemetry": ["JSONCoding", "Measures", "MicroHTTP", "Tracing", "Dispatch", "Synchronization"],
        "MicroHTTP": ["ByteText", "CMicroHTTPD", "CEpoll", "Measures", "Dispatch", "Glibc", "Synchronization"],
        "Sodium": ["CSodium", "Glibc"],
        "Gzip": ["CZlib"],
        "SQLite": ["CSQLite", "Glibc", "Synchronization"],
        "Postgres": ["ByteText", "CPostgres", "Glibc"],
        // These compile on Apple's platforms, too.
        "Coordinators": ["ByteText", "JSONCoding", "Synchronization"],
        "CoordinatorsTesting": [
            "ByteText", "Coordinators", "JSONCoding", "CSymbols", "Dispatch", "Glibc", "Synchronization",
        ],
        "Sessions": [
            "Coordinators", "JSONCoding", "Measures", "Sodium", "Tracing", "Dispatch", "FoundationEssentials",
            "Synchronization",
        ],
        "SQLiteStore": [
            "ByteText", "Sessions", "SQLite", "Sodium", "Measures", "Dispatch", "FoundationEssentials", "Glibc",
            "Synchronization",
        ],
        "PostgresStore": [
            "ByteText", "Sessions", "Postgres", "Sodium", "Measures", "Dispatch", "FoundationEssentials", "Glibc",
            "Synchronization",
        ],
        "NavigationAPI": [
            "ByteText", "CFiles", "Sessions", "Coordinators", "Measures", "MicroHTTP", "JSONCoding", "Sodium",
            "Gzip", "Tracing",
            "FoundationEssentials", "Synchronization",
        ],
        "CoordinatorServer": [
            "ByteText", "CoordinatorsTesting", "NavigationAPI", "Sessions", "SQLiteStore", "PostgresStore",
            "Coordinators", "MicroHTTP", "JSONCoding", "CJemalloc", "Measures", "OpenTelemetry", "Prometheus",
            "CoreMetrics", "Tracing",
            "ArgumentParser", "Logging", "Sodium", "Dispatch", "FoundationEssentials", "Glibc", "Synchronization",
        ],
        "ReferenceApps": [
            "Coordinators", "SQLite", "Sodium", "Dispatch", "FoundationEssentials", "Glibc", "Synchronization",
        ],
        "coordinatord": [
            "CFiles", "CoordinatorServer", "Coordinators", "ReferenceApps", "ArgumentParser", "FoundationEssentials",
            "Glibc",
        ],
    ]

    static let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Sources")

    /// The lowest first.
    static let floors = ["C", "Basics", "Pattern", "Sessions", "HTTP", "Observability", "Program"]

    /// The floor of each target, by the folder that it is in.
    static let floorOfTarget = [String: String](
        uniqueKeysWithValues: floors.flatMap { floor in
            let targets = try? FileManager.default.contentsOfDirectory(atPath: sources.appending(path: floor).path)
            return (targets ?? []).map { ($0, floor) }
        })

    @Test func `every target is on a floor, and has its row in the table`() throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: Architecture.sources.path)
        #expect(Set(folders) == Set(Architecture.floors))

        let targets = Architecture.floorOfTarget.filter { $0.value != "C" }.keys
        #expect(Set(targets) == Set(Architecture.allowed.keys))
    }

    @Test(arguments: allowed.keys.sorted())
    func `a target uses its own floor and lower ones`(target: String) throws {
        let own = try #require(Architecture.floorOfTarget[target].flatMap(Architecture.floors.firstIndex))
        for other in Architecture.allowed[target, default: []] {
            guard let floor = Architecture.floorOfTarget[other].flatMap(Architecture.floors.firstIndex) else {
                continue
            }
            #expect(floor <= own, "\(other) is above")
        }
    }

    @Test(arguments: allowed.keys.sorted())
    func `imports only what the arrows allow`(target: String) throws {
        for file in try Architecture.files(of: target) {
            let forbidden = try Architecture.imports(in: file).subtracting(Architecture.allowed[target, default: []])

            #expect(forbidden.isEmpty, "\(file.lastPathComponent) imports \(forbidden.sorted())")
        }
    }

    /// What opens a store.
    @Test func `commands do not know which kinds of stores there are`() throws {
        let knowing = try Architecture.files(of: "CoordinatorServer").filter {
            try !Architecture.imports(in: $0).isDisjoint(with: ["SQLiteStore", "PostgresStore"])
        }

        #expect(
            Set(knowing.map(\.lastPathComponent))
                == ["StoreChoice.swift", "StoreCopies.swift", "PostgresDatabase.swift"])
    }

    /// So that the rest of the sources is the same for every server.
    @Test func `only the folder Complete and the console's handlers depend on the trait`() throws {
        let knowing = try Architecture.allowed.keys.flatMap(Architecture.files).filter {
            try String(contentsOf: $0, encoding: .utf8).contains(/#(if|elseif) .*\bComplete\b/)
        }

        #expect(
            Set(knowing.map(\.lastPathComponent)) == [
                "PostgresDatabase.swift", "Traces.swift", "OperatorConsole.swift", "SmallServer.swift",
                "NavigationHandler+Console.swift",
            ])
    }

    @Test(arguments: allowed.keys.sorted())
    func `the main file opens with what the target is for`(target: String) throws {
        let main = Architecture.folder(of: target).appending(path: "\(target).swift")

        #expect(try String(contentsOf: main, encoding: .utf8).hasPrefix("// \(target): "))
    }

    /// A file, by its path in the repository.
    static func text(_ path: String) throws -> String {
        try String(contentsOf: sources.deletingLastPathComponent().appending(path: path), encoding: .utf8)
    }

    /// The modules that a file imports, one import a line, whatever its access level and attributes.
    static func imports(in file: URL) throws -> Set<String> {
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        return Set(
            lines.compactMap { line in
                let words = line.split(separator: " ")
                guard let index = words.firstIndex(of: "import"), index + 1 < words.count,
                    words[..<index].allSatisfy({
                        $0.hasPrefix("@") || ["public", "package", "internal", "private", "fileprivate"].contains($0)
                    })
                else { return nil }
                return words[words.count - 1].split(separator: ".").first.map(String.init)
            })
    }

    private static func folder(of target: String) -> URL {
        sources.appending(path: "\(floorOfTarget[target, default: ""])/\(target)")
    }

    static func files(of target: String) throws -> [URL] {
        let folder = folder(of: target)
        let paths = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
        return paths.filter { $0.hasSuffix(".swift") }.map { folder.appending(path: $0) }
    }
}

/// Text from outside is taken apart as bytes, with `ByteText`: a Character is a grapheme, which may hide a separator.
@Suite struct ByteTextTests {
    /// What searches or compares Characters, for grep.
    private static let graphemes =
        #"\.split\((whereSeparator:|separator: ")|(first|last)Index\(of: "|[^8]\.(firstRange|contains)\(""#
        + #"|\.replacing\("[^"]*", |[^sr]\.is(Newline|Whitespace|Letter|Number)\b|\$0 [!=]= "."|has(Pre|Suf)fix"#
        + #"|\.(first|last) [!=]= "|(first|whole|prefix)Match\("#

    /// These read nothing from outside: names in an app's code, this package's files, what an author types.
    private static let exempt: Set<String> = [
        "Pattern/Coordinators/Authoring", "Pattern/Coordinators/Engine",
        "Pattern/CoordinatorsTesting", "Observability/Prometheus", "Program/coordinatord",
    ]
    /// Parts of lines that are right.
    private static let allowed = [
        // All characters of the pattern are ASCII's alone.
        "text.wholeMatch(", "$0.wholeMatch(of: pattern)",
        // Elements of a list.
        #".parts(at: ",").contains("memory")"#, #"words.lastIndex(of: "SERVICE")"#, #"segments.first == "console""#,
        #"segments.last == "signals""#,
        #"segments.contains("")"#,
        // Our own texts.
        "MHD_get_version()", "crypto_pwhash_STRPREFIX", #"$0.hasSuffix(".css")"#, #"section.prefix { $0 != "\n" }"#,
        #"segments.firstIndex(of: "sessions")"#, "cells.map", "SettingsDocument.swift", "name.uppercased()",
        // Of a scalar.
        "unicodeScalars.allSatisfy",
    ]

    @Test func `no Character is searched or compared in text from outside`() throws {
        let (grep, output) = (Process(), Pipe())
        grep.executableURL = URL(filePath: "/usr/bin/grep")
        grep.arguments = ["-rE", "--include=*.swift", ByteTextTests.graphemes, "."]
        grep.currentDirectoryURL = Architecture.sources
        grep.standardOutput = output
        try grep.run()
        let found = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)

        let wrong = found.split(separator: "\n").filter { line in
            !ByteTextTests.exempt.contains { line.hasPrefix("./\($0)/") }
                && !ByteTextTests.allowed.contains { line.contains($0) }
        }

        #expect(found.contains("wholeMatch("), "grep finds nothing")
        #expect(wrong == [])
    }
}

/// `docs/signatures.md` repeats the declarations of the sources.
@Suite struct SignatureTests {
    /// The text without what the page leaves out: `public`, the lines of tests, and breaks of lines.
    private static func plain(_ text: String) -> String {
        text.replacing(/,?\s*fileID: String = #fileID,\s*line: UInt = #line/, with: "")
            .replacing(/\bpublic (private\(set\) )?/, with: "").replacing(/\s+/, with: " ")
            .replacing("( ", with: "(").replacing(" )", with: ")").replacing("`", with: "")
    }

    /// What only the server's other targets meet.
    private static let exempt: Set<String> = [
        "EffectOutcome", "Loss", "Occurrence", "Place", "RestoreError", "TokenRotation", "UserChange",
    ]

    @Test func `the page has the cases of every public enum that authors meet`() throws {
        let page = try Architecture.text("docs/signatures.md")
        var count = 0
        for file in try Architecture.files(of: "Coordinators") {
            for (name, declaration) in SignatureTests.cases(in: try String(contentsOf: file, encoding: .utf8)) {
                let row = "\n| `\(declaration)` | "
                let isInSection = page.contains("\n## `\(name)`\n") && page.contains(row)
                let isListed = page.split(separator: row).dropFirst().contains { rest in
                    rest.prefix(while: { $0 != ":" }).split(whereSeparator: { ".`".contains($0) }).last == name[...]
                }
                #expect(isInSection || isListed, "\(name): \(declaration)")
                count += 1
            }
        }
        #expect(count > 80)
    }

    /// The declarations of the cases in a file, each with the name of its enum.
    private static func cases(in text: String) -> [(name: String, declaration: String)] {
        var cases: [(name: String, declaration: String)] = []
        var open: (indent: Substring, name: String)?
        for line in text.split(separator: "\n") {
            if let found = line.firstMatch(of: /^( *)public (?:indirect )?enum (\w+)/) {
                open = (found.output.1, String(found.output.2))
            }
            guard let (indent, name) = open else { continue }
            let isOwn = line.hasPrefix("\(indent)    case ") || line.contains("enum \(name)")
            if isOwn, !exempt.contains(name), let found = line.firstMatch(of: /case .+?(?= \}$|$)/) {
                cases.append((name, plain(String(found.output))))
            }
            if line == "\(indent)}" || line.hasSuffix(" }") && line.contains("enum \(name)") { open = nil }
        }
        return cases
    }

    @Test func `every signature on the page is one of the sources, and the page has all of the navigator's`() throws {
        let files = try ["JSONCoding", "Coordinators", "CoordinatorsTesting"].flatMap(Architecture.files)
        let sources = SignatureTests.plain(
            try files.map { try String(contentsOf: $0, encoding: .utf8) }.joined(separator: "\n"))
        let page = try Architecture.text("docs/signatures.md")
        let listed = page.matches(of: /(?m)^\| `([^`]+)` \|/).map { String($0.output.1) }

        #expect(listed.count > 100)
        for signature in listed { #expect(sources.contains(signature), "\(signature)") }
        for file in files
        where ["Navigator.swift", "Link.swift"].contains(file.lastPathComponent)
            || file.pathComponents.contains("Requests")
        {
            let text = try String(contentsOf: file, encoding: .utf8)
            for function in text.matches(of: /public (?:mutating )?func (\w+)/) {
                #expect(listed.contains { $0.contains("func \(function.output.1)") }, "\(function.output.1)")
            }
        }
    }
}

@Suite struct BuildTests {
    /// SwiftPM gives the names of enabled traits to the compiler in an order that differs from run to run. With two of
    /// them, each second build of an app's package would compile the whole server again.
    @Test func `the package has at most one trait`() throws {
        #expect(try Architecture.text("Package.swift").matches(of: /\.trait\(/).count <= 1)
    }
}

/// The version has one source, which everything else repeats.
@Suite struct VersionTests {
    @Test func `description, changelog and image have the program's version`() throws {
        let source = try Architecture.text("Sources/Program/CoordinatorServer/CoordinatorServer.swift")
        let version = try #require(source.firstMatch(of: /static let version = "(\d+\.\d+\.\d+)"/)).output.1

        #expect(try Architecture.text("openapi.yaml").contains("\n  version: \(version)\n"))
        #expect(try Architecture.text("CHANGELOG.md").hasPrefix("# Changelog\n\n## \(version)"))
        #expect(try Architecture.text("Dockerfile").contains("org.opencontainers.image.version=\(version) "))
        for (file, part) in [
            ("Examples/cinema/Dockerfile", "FROM coordinatord-runtime:\(version)\n"),
            ("docs/containers.md", "FROM coordinatord-runtime:\(version)\n"),
            ("docs/operating.md", "/coordinatord_\(version)_amd64.deb\n"),
            ("docs/coordinatord.8", "\"coordinatord \(version)\""),
            ("deploy/compose.yaml", "image: coordinatord:\(version)\n"),
            ("deploy/kubernetes/one-server/kustomization.yaml", "newTag: \(version)\n"),
            ("deploy/kubernetes/replicas/kustomization.yaml", "newTag: \(version)\n"),
        ] {
            #expect(try Architecture.text(file).contains(part), "\(file)")
        }
    }
}
