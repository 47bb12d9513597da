import Foundation
import JSONCoding
import TestSupport
import Testing

/// The maps that the program draws.
@Suite struct GraphTests {
    /// - Returns: the errors without the progress, which is reported on a slow machine.
    static func graph(
        _ arguments: String..., by program: URL? = nil
    ) async throws -> (code: Int32, output: String, errors: String) {
        // What comes later counts.
        let command = ["graph", "--event-time", "\(hangLimit)"] + arguments
        var result = try await Program(program ?? Program.server, command).exit()
        result.errors = result.errors.withoutProgress
        return result
    }

    @Test func `main as a Mermaid flowchart, which is the default`() async throws {
        let result = try await GraphTests.graph("main")

        #expect(
            result.output == """
                flowchart TD
                    app(["main"])
                    subgraph c1["main"]
                        n1["a"]
                        n2["c"]
                        n3["f"]
                    end
                    app --> n1
                    n1 -->|"button01Tapped"| n2
                    n1 -->|"button02Tapped"| n3
                    n2 -->|"button01Tapped"| n2
                    n2 -->|"button02Tapped"| n3
                    n3 -->|"button01Tapped"| n2
                    n3 -->|"button02Tapped"| n3

                """)
        #expect(result.errors == "")
        #expect(result.code == 0)
    }

    @Test func `main as a digraph`() async throws {
        let result = try await GraphTests.graph("main", "--format", "dot")

        #expect(
            result.output == """
                digraph "main" {
                    graph [fontname="sans-serif", fontsize=11, style=rounded, color=gray60];
                    node [fontname="sans-serif", fontsize=12, shape=box, style=rounded];
                    edge [fontname="sans-serif", fontsize=10];
                    app [label="main", shape=plaintext];
                    subgraph cluster_1 {
                        label="main";
                        n1 [label="a"];
                        n2 [label="c"];
                        n3 [label="f"];
                    }
                    app -> n1;
                    n1 -> n2 [label="button01Tapped"];
                    n1 -> n3 [label="button02Tapped"];
                    n2 -> n2 [label="button01Tapped"];
                    n2 -> n3 [label="button02Tapped"];
                    n3 -> n2 [label="button01Tapped"];
                    n3 -> n3 [label="button02Tapped"];
                }

                """)
    }

    @Test func `main as JSON, with all built-in events`() async throws {
        let result = try await GraphTests.graph("main", "--format", "json", "--built-in")

        let map = try JSON(parsing: Array(result.output.utf8))
        #expect(
            map["nodes"] == [
                ["id": "n1", "screen": "a", "coordinator": "main"], ["id": "n2", "screen": "c", "coordinator": "main"],
                ["id": "n3", "screen": "f", "coordinator": "main"],
            ])
        #expect(
            map["edges"]?.array?[0] == ["from": "n1", "to": "n2", "events": ["button01Tapped"], "isBuiltIn": false])
        #expect(
            try GraphTests.edges(in: result.output, "json") == [
                "n1 n2 button01Tapped", "n1 n3 button02Tapped", "n2 n1 back", "n2 n2 button01Tapped", "n2 n2 back",
                "n2 n3 button02Tapped", "n2 n3 back", "n3 n1 back", "n3 n2 button01Tapped", "n3 n2 back",
                "n3 n3 button02Tapped", "n3 n3 back",
            ])
        #expect(map["isComplete"] == true && map["slowEvents"] == [])
    }

    @Test(arguments: ["mermaid", "dot", "json"])
    func `tabs in every format: the events of a screen, and a tab that only selecting it shows`(
        format: String
    ) async throws {
        let result = try await GraphTests.graph("tabs", "--format", format)

        let edges = try GraphTests.edges(in: result.output, format)
        #expect(edges == ["n1 n2 login", "n2 n3 home", "n2 n4 selectTab", "n3 n4 plus", "n4 n1 myPage"])
        for screen in ["login", "home", "plus", "myPage"] { #expect(result.output.contains(screen)) }
        #expect(result.errors == "")
    }

    @Test func `alerts are on the map, with the titles of their buttons`() async throws {
        let result = try await GraphTests.graph("shop")

        #expect(result.output.contains(#"n10{{"Discard your input#63;"}}"#))
        let edges = try GraphTests.edges(in: result.output, "mermaid")
        #expect(edges.contains("n8 n10 showItem, signOut") && edges.contains("n8 n2 showItem"))
        // The button leads where the event that was held up does: a sign-out, leaving the flow.
        #expect(edges.contains("n10 n1 “Discard”") && edges.contains("n10 n4 “Discard”"))
        #expect(edges.contains("n1 n5 /checkout") && edges.contains("n5 n4 “OK”"))
        #expect(!result.output.contains("back"))
    }

    @Test func `an event that takes too long is tried once and named`() async throws {
        // The other events must not take as long, on however slow a machine.
        var limit = 1
        var result = try await GraphTests.graph("slow", "--event-time", "\(limit)", by: Program.oddServer)
        while limit < hangLimit, result.errors.contains("slow.next") || result.code != 0 {
            limit *= 4
            result = try await GraphTests.graph("slow", "--event-time", "\(limit)", by: Program.oddServer)
        }

        // Who goes back and on again skips a screen.
        #expect(try GraphTests.edges(in: result.output, "mermaid") == ["n1 n2 next", "n1 n3 next", "n2 n3 next"])
        #expect(
            result.errors
                == "Warning: these took longer than \(limit).0 seconds and are not on the map: slow.wait\n")
    }

    @Test func `an unknown app is an error that lists the known ones`() async throws {
        let result = try await GraphTests.graph("x")

        #expect(result.code == 64)
        #expect(result.output == "")
        #expect(result.errors.hasPrefix("Error: there is no app “x”; there are: tabs, "))
        #expect(result.errors.contains("main"))
    }

    @Test func `a program with several apps asks which one is meant`() async throws {
        let result = try await GraphTests.graph()

        #expect(result.code == 64)
        #expect(result.errors.hasPrefix("Error: which app is meant? There are: tabs, "))
    }

    @Test func `a map that is cut short by its limit comes with a warning`() async throws {
        let result = try await GraphTests.graph("main", "--format", "json", "--limit", "1")

        let map = try JSON(parsing: Array(result.output.utf8))
        #expect(map["isComplete"] == false)
        #expect(try GraphTests.edges(in: result.output, "json") == ["n1 n2 button01Tapped", "n1 n3 button02Tapped"])
        #expect(result.errors == "Warning: cut short after 1 states; a higher --limit shows more.\n")
        #expect(result.code == 0)
    }

    @Test(arguments: [["--limit", "0"], ["--format", "svg"]])
    func `a wrong option is explained`(options: [String]) async throws {
        let result = try await Program(Program.server, ["graph", "main"] + options).exit()

        #expect(result.code == 64)
        #expect(result.errors.contains("--help"))
    }

    @Test func `a map uses development dependencies, escapes names, and opens links without parameters`()
        async throws
    {
        let result = try await GraphTests.graph("development", by: Program.oddServer)

        #expect(
            result.output == """
                flowchart TD
                    app(["development"])
                    subgraph c1["odd"]
                        n1["a #34;b#34; #92; #60;c#62;#59; #37;d"]
                        n2{{"Sure#63;"}}
                        n3["help"]
                    end
                    app --> n1
                    n1 -->|"enter, tick"| n1
                    n1 -->|"ask"| n2
                    n1 -.->|"/help"| n3
                    n2 -->|"“Cancel”, “Go”"| n1
                    n2 -->|"“Cancel”, “Go”"| n3
                    n3 -->|"ask"| n2
                    n3 -->|"enter, tick"| n3

                """)
    }

    @Test func `a digraph's strings are escaped`() async throws {
        let result = try await GraphTests.graph("development", "--format", "dot", by: Program.oddServer)

        #expect(result.output.contains(#"n1 [label="a \"b\" \\ <c>; %d"];"#))
    }
}

/// What the apps learn from the command line.
@Suite struct ServerSetupTests {
    @Test func `a program has its own name, version, options and services`() async throws {
        let version = try await Program(Program.oddServer, ["--version"]).exit()
        #expect(version.output == "oddserver 7.1 (coordinatord 0.1.0)\n")
        let arguments = ["serve", "--port", "0", "--store", "memory", "--weather", "windy"]
        let program = try Program(Program.oddServer, arguments)
        var lines = [try await program.line(), try await program.line()]
        lines.sort()
        #expect(
            lines[1].contains("oddserver 7.1 (coordinatord 0.1.0) listening on ") && lines[0] == "the weather is windy"
        )
        program.signal(SIGTERM)
        let end = try await program.exit()
        #expect(end.code == 0 && end.output.hasSuffix("the weather is over\n"))
    }

    @Test func `a service that does not stop is ended with the process`() async throws {
        let arguments = ["serve", "--port", "0", "--store", "memory", "--weather", "foggy"]
        let program = try Program(Program.oddServer, arguments)
        _ = (try await program.line(), try await program.line())
        program.signal(SIGTERM)
        #expect(try await program.exit().code == 70)
    }

    @Test func `a service that fails stops the server`() async throws {
        let arguments = ["serve", "--log-format", "text", "--port", "0", "--store", "memory", "--weather", "stormy"]
        let end = try await Program(Program.oddServer, arguments).exit()

        #expect(end.code == 70 && end.errors.contains("Error: a service of the apps failed: Lightning()"))
    }

    @Test(arguments: [([], "production"), (["--development"], "development")])
    func `the apps know whether they are for development`(flags: [String], app: String) async throws {
        let program = try Program(
            Program.oddServer,
            ["serve", "--log-format", "text", "--port", "0", "--store", "memory"] + ServerTests.unhurried + flags)
        let line = try await program.line()
        let port = try #require(line.firstMatch(of: /http:\/\/127\.0\.0\.1:(\d+)/).flatMap { Int($0.output.1) })

        let apps = try await Connection(port: port).request("GET", "/v1/apps")

        #expect(try JSON(parsing: Array(apps.body))["defaultApp"] == .string(app))
        program.signal(SIGTERM)
        _ = try await program.exit()
    }

    @Test func `apps that cannot be made are a clear error`() async throws {
        let result = try await Program(
            Program.oddServer, ["serve", "--log-format", "text", "--data-directory", "/tmp/nowhere"]
        ).exit()

        #expect(result.code == 78)
        #expect(result.errors == "Error: the apps cannot be made: /tmp/nowhere is no place for data\n")
    }

    @Test func `an event that a screen of a new session misspells keeps the server from starting`() async throws {
        let arguments = ServerSetupTests.arguments(dataDirectory: "/tmp/misspelt")

        let result = try await Program(Program.oddServer, arguments).exit()

        #expect(result.code == 70)
        #expect(
            result.errors == """
                Error: app “misspelt”: misspelt asks for push(tabs, tabs:): screen “b” offers the unknown event “logn”, or one without an example

                """)
    }

    @Test func `an app that cannot start yet does not keep the server from starting`() async throws {
        let program = try Program(Program.oddServer, ServerSetupTests.arguments(dataDirectory: "/tmp/failing"))
        let line = try await program.line()

        #expect(line.contains("listening on"))
        program.signal(SIGTERM)
        #expect(try await program.exit().code == 0)
    }

    private static func arguments(dataDirectory: String) -> [String] {
        let store = FileManager.default.temporaryDirectory.appending(path: "coordinatord-\(UUID())")
        return [
            "serve", "--port", "0", "--log-format", "text", "--store", "sqlite:\(store.path)", "--data-directory",
            dataDirectory,
        ]
    }
}

extension GraphTests {
    /// The edges of a drawing, each as `from to events`.
    static func edges(in drawing: String, _ format: String) throws -> [String] {
        switch format {
        case "mermaid": drawing.matches(of: /(n\d+) -\.?-+>\|"(.*)"\| (n\d+)/).map { "\($0.1) \($0.3) \($0.2)" }
        case "dot":
            drawing.matches(of: /(n\d+) -> (n\d+) \[label="(.*)"(?:, style=dashed)?\];/).map {
                "\($0.1) \($0.2) \($0.3)"
            }
        default:
            try #require(JSON(parsing: Array(drawing.utf8))["edges"]?.array).map { edge in
                let events = try #require(edge["events"]?.array).compactMap(\.string)
                let ends = try [#require(edge["from"]?.string), #require(edge["to"]?.string)]
                return (ends + [events.joined(separator: ", ")]).joined(separator: " ")
            }
        }
    }
}
