import Foundation
import Testing
import TestSupport

/// `coordinatord new`, as far as it needs no build; `scripts/test-authoring` builds what it writes.
@Suite struct NewCommandTests {
    private let directory: URL
    private let program: String
    private var new: String { "'\(program)' new" }

    init() throws {
        program = try Program.server.path
        directory = URL.temporaryDirectory.appending(path: "new-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }

    /// Runs a command in the directory.
    private func run(_ command: String) async throws -> (code: Int32, output: String, errors: String) {
        try await Program(
            URL(filePath: "/bin/bash"), ["-c", "cd '\(directory.path)' && \(command)"]
        ).exit()
    }

    private func text(_ path: String) throws -> String {
        try String(contentsOf: directory.appending(path: path), encoding: .utf8)
    }

    @Test func `the package is named as it should be, in all its files`() async throws {
        #expect(try await run("\(new) my-shop --package '\(repository.path)'").code == 0)

        #expect(try text("my-shop/Package.swift").contains(#"executable(name: "my-shop", targets: ["MyShop"])"#))
        #expect(try text("my-shop/Sources/MyShop/App.swift").contains(#"App("my-shop","#))
        #expect(try text("my-shop/Tests/MyShopTests/AppTests.swift").contains("@testable import MyShop"))
        let placeholders = try await run("grep -rn '__' my-shop")
        #expect(placeholders.code == 1 && placeholders.output == "")
        let path = repository.path
        #expect(try text("my-shop/Package.swift").contains(#".package(name: "coordinatord", path: "\#(path)")"#))
        #expect(try text("my-shop/Dockerfile").contains("COPY --from=coordinatord . \(path)\n"))
    }

    @Test func `a package may get coordinatord from a URL`() async throws {
        #expect(try await run("\(new) shop --package https://example.com/someone/Coordinatord.git").code == 0)

        let manifest = try text("shop/Package.swift")
        #expect(manifest.contains(#".package(url: "https://example.com/someone/Coordinatord.git", from: ""#))
        #expect(manifest.contains(#".product(name: "Coordinators", package: "Coordinatord")"#))
        #expect(!(try text("shop/Dockerfile").contains("COPY --from=coordinatord ")))
        #expect(try text("shop/README.md").contains(" https://example.com/someone/Coordinatord.git#"))
    }

    @Test func `a package has a service like coordinatord's, and a script for a Debian package`() async throws {
        #expect(try await run("\(new) My_Shop --package '\(repository.path)'").code == 0)

        #expect(try text("My_Shop/README.md").contains(" -t my-shop .\n"), "names of images are in lower case")
        let service = try text("My_Shop/deploy/My_Shop.service")
        let own = try String(
            contentsOf: repository.appending(path: "deploy/systemd/coordinatord.service"), encoding: .utf8)
        #expect(lines(service, after: "[Service]") == lines(own, after: "[Service]"))
        #expect(!service.contains("reference-apps"))
        let script = try text("My_Shop/deploy/package")
        #expect(script.contains("Package: my-shop\n") && script.contains("/usr/bin/My_Shop"))
        #expect(try await run("bash -n My_Shop/deploy/package && test -x My_Shop/deploy/package").code == 0)
    }

    /// The lines of a unit from a section on, with the program's name as `coordinatord`.
    private func lines(_ unit: String, after section: String) -> ArraySlice<Substring> {
        unit.replacing("My_Shop", with: "coordinatord").split(separator: "\n").drop { $0 != section }
    }

    @Test(arguments: ["1shop", "a/b", "../shop", "löwe", "-", "''", "swift", String(repeating: "a", count: 65)])
    func `a name that cannot be a package's is refused`(name: String) async throws {
        let refused = try await run("\(new) --package '\(repository.path)' -- \(name)")

        #expect(refused.code == 64 && refused.errors.hasPrefix("Error: "))
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == [])
    }

    @Test func `nothing is written over`() async throws {
        #expect(try await run("mkdir shop && touch shop/mine").code == 0)

        let refused = try await run("\(new) shop --package '\(repository.path)'")

        #expect(refused.code == 73 && refused.errors == "Error: shop cannot be created: there is one already\n")
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path + "/shop") == ["mine"])
    }

    @Test func `a program that has left its checkout asks where coordinatord is`() async throws {
        let lost = try await run("cp '\(program)' moved && ./moved new shop")
        #expect(lost.code == 64 && lost.errors.contains("--package"))

        let wrong = try await run("./moved new shop --package .")
        #expect(wrong.code == 64 && wrong.errors.contains("must be a checkout of coordinatord"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["moved"])
    }
}
