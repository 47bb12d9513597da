import Foundation
import JSONCoding
import TestSupport
import Testing

/// The maps that the program draws.
@Suite struct GraphTests {
    @Test func `main as a Mermaid flowchart, which is the default`() async throws {
        let result = try await Program.coordinatord("graph", "main").exit()

        #expect(
            result.output == """
                flowchart TD
                    app(["main"])
                    n1["a (main)"]
                    n2["c (main)"]
                    n3["f (main)"]
                    app --> n1
                    n1 -->|"button01Tapped"| n2
                    n1 -->|"button02Tapped"| n3
                    n2 -->|"back"| n1
                    n2 -->|"button01Tapped, back"| n2
                    n2 -->|"button02Tapped, back"| n3
                    n3 -->|"back"| n1
                    n3 -->|"button01Tapped, back"| n2
                    n3 -->|"button02Tapped, back"| n3

                """)
        #expect(result.errors == "")
        #expect(result.code == 0)
    }

    @Test func `main as a digraph`() async throws {
        let result = try await Program.coordinatord("graph", "main", "--format", "dot").exit()

        #expect(
            result.output == """
                digraph "main" {
                    app [label="main", shape=plaintext];
                    n1 [label="a (main)"];
                    n2 [label="c (main)"];
                    n3 [label="f (main)"];
                    app -> n1;
                    n1 -> n2 [label="button01Tapped"];
                    n1 -> n3 [label="button02Tapped"];
                    n2 -> n1 [label="back"];
                    n2 -> n2 [label="button01Tapped, back"];
                    n2 -> n3 [label="button02Tapped, back"];
                    n3 -> n1 [label="back"];
                    n3 -> n2 [label="button01Tapped, back"];
                    n3 -> n3 [label="button02Tapped, back"];
                }

                """)
    }

    @Test func `main as JSON`() async throws {
        let result = try await Program.coordinatord("graph", "main", "--format", "json").exit()

        #expect(
            result.output.replacing(#"},{"#, with: "},\n{") == """
                {"app":"main","nodes":[{"id":"n1","screen":"a","coordinator":"main"},
                {"id":"n2","screen":"c","coordinator":"main"},
                {"id":"n3","screen":"f","coordinator":"main"}],\
                "edges":[{"from":"n1","to":"n2","events":["button01Tapped"]},
                {"from":"n1","to":"n3","events":["button02Tapped"]},
                {"from":"n2","to":"n1","events":["back"]},
                {"from":"n2","to":"n2","events":["button01Tapped","back"]},
                {"from":"n2","to":"n3","events":["button02Tapped","back"]},
                {"from":"n3","to":"n1","events":["back"]},
                {"from":"n3","to":"n2","events":["button01Tapped","back"]},
                {"from":"n3","to":"n3","events":["button02Tapped","back"]}],"isComplete":true}

                """)
    }

    @Test(arguments: ["mermaid", "dot", "json"])
    func `tabs in every format: the events of a screen, and the other tabs`(format: String) async throws {
        let result = try await Program.coordinatord("graph", "tabs", "--format", format).exit()

        let edges = try GraphTests.edges(in: result.output, format)
        #expect(
            edges == [
                "n1 n2 login", "n2 n3 home, selectTab", "n2 n4 selectTab", "n3 n2 selectTab", "n3 n4 plus, selectTab",
                "n4 n1 myPage", "n4 n2 selectTab", "n4 n3 selectTab",
            ])
        for screen in ["login", "home", "plus", "myPage"] { #expect(result.output.contains(screen)) }
        #expect(result.errors == "")
    }

    @Test func `an unknown app is an error that lists the known ones`() async throws {
        let result = try await Program.coordinatord("graph", "x").exit()

        #expect(result.code == 64)
        #expect(result.output == "")
        #expect(result.errors.hasPrefix("Error: there is no app “x”; there are: tabs, "))
        #expect(result.errors.contains("main"))
    }

    @Test func `a map that is cut short by its limit comes with a warning`() async throws {
        let result = try await Program.coordinatord("graph", "main", "--format", "json", "--limit", "1").exit()

        let map = try JSON(parsing: Array(result.output.utf8))
        #expect(map["isComplete"] == false)
        #expect(try GraphTests.edges(in: result.output, "json") == ["n1 n2 button01Tapped", "n1 n3 button02Tapped"])
        #expect(result.errors == "Warning: cut short after 1 states; a higher --limit shows more.\n")
        #expect(result.code == 0)
    }

    @Test(arguments: [["--limit", "0"], ["--format", "svg"]])
    func `a wrong option is explained`(options: [String]) async throws {
        let result = try await Program(GraphTests.coordinatord, ["graph", "main"] + options).exit()

        #expect(result.code == 64)
        #expect(result.errors.contains("--help"))
    }

    @Test func `a map uses development dependencies, escapes names, and opens links without parameters`()
        async throws
    {
        let result = try await Program(GraphTests.oddServer, ["graph", "development"]).exit()

        #expect(
            result.output == """
                flowchart TD
                    app(["development"])
                    n1["a #34;b#34; #92; #60;c#62;#59; #37;d (odd)"]
                    n2["help (odd)"]
                    app --> n1
                    n1 -->|"ask, enter, tick, back, answer"| n1
                    n1 -->|"open"| n2
                    n2 -->|"back"| n1
                    n2 -->|"ask, enter, tick, open, back, answer"| n2

                """)
    }

    @Test func `a digraph's strings are escaped`() async throws {
        let result = try await Program(GraphTests.oddServer, ["graph", "development", "--format", "dot"]).exit()

        #expect(result.output.contains(#"n1 [label="a \"b\" \\ <c>; %d (odd)"];"#))
    }
}

/// What the apps learn from the command line.
@Suite struct AppOptionsTests {
    @Test(arguments: [([], "production"), (["--development"], "development")])
    func `the apps know whether they are for development`(flags: [String], app: String) async throws {
        let program = try Program(GraphTests.oddServer, ["serve", "--port", "0", "--store", "memory"] + flags)
        let line = try await program.line()
        let port = try #require(line.firstMatch(of: /http:\/\/127\.0\.0\.1:(\d+)/).flatMap { Int($0.output.1) })

        let apps = try await Connection(port: port).request("GET", "/v1/apps")

        #expect(try JSON(parsing: Array(apps.body))["defaultApp"] == .string(app))
        program.signal(SIGTERM)
        _ = try await program.exit()
    }

    @Test func `apps that cannot be made are a clear error`() async throws {
        let result = try await Program(GraphTests.oddServer, ["serve", "--data-directory", "/tmp/nowhere"]).exit()

        #expect(result.code == 78)
        #expect(result.errors == "Error: the apps cannot be made: /tmp/nowhere is no place for data\n")
    }

    @Test func `an event that a screen of a new session misspells keeps the server from starting`() async throws {
        let arguments = AppOptionsTests.arguments(dataDirectory: "/tmp/misspelt")

        let result = try await Program(GraphTests.oddServer, arguments).exit()

        #expect(result.code == 70)
        #expect(
            result.errors == """
                Error: app “misspelt”: misspelt asks for push(tabs, tabs:): screen “b” offers the unknown event “logn”

                """)
    }

    @Test func `an app that cannot start yet does not keep the server from starting`() async throws {
        let program = try Program(GraphTests.oddServer, AppOptionsTests.arguments(dataDirectory: "/tmp/failing"))
        let line = try await program.line()

        #expect(line.contains("listening on"))
        program.signal(SIGTERM)
        #expect(try await program.exit().code == 0)
    }

    private static func arguments(dataDirectory: String) -> [String] {
        let store = FileManager.default.temporaryDirectory.appending(path: "coordinatord-\(UUID())")
        return ["serve", "--port", "0", "--store", "sqlite:\(store.path)", "--data-directory", dataDirectory]
    }
}

extension GraphTests {
    static var coordinatord: URL { executable("coordinatord") }
    static var oddServer: URL { executable("oddserver") }

    private static func executable(_ name: String) -> URL {
        URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().appending(path: name)
    }

    /// The edges of a drawing, each as `from to events`.
    static func edges(in drawing: String, _ format: String) throws -> [String] {
        switch format {
        case "mermaid": drawing.matches(of: /(n\d+) -->\|"(.*)"\| (n\d+)/).map { "\($0.1) \($0.3) \($0.2)" }
        case "dot": drawing.matches(of: /(n\d+) -> (n\d+) \[label="(.*)"\];/).map { "\($0.1) \($0.2) \($0.3)" }
        default:
            try #require(JSON(parsing: Array(drawing.utf8))["edges"]?.array).map { edge in
                let events = try #require(edge["events"]?.array).compactMap(\.string)
                let ends = try [#require(edge["from"]?.string), #require(edge["to"]?.string)]
                return (ends + [events.joined(separator: ", ")]).joined(separator: " ")
            }
        }
    }
}
