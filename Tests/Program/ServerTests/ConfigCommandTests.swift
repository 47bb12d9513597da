import Foundation
import JSONCoding
import Testing
import TestSupport

@testable import CoordinatorServer

/// `coordinatord config`, and the settings of the programs as an operator meets them.
@Suite(.enabled(if: isComplete)) struct ConfigCommandTests {
    typealias Result = (code: Int32, output: String, errors: String)

    func run(
        _ arguments: [String], _ environment: [String: String] = [:], program: String = "coordinatord"
    ) async throws -> Result {
        let file = try program == "oddserver" ? Program.oddServer : Program.server
        return try await Program(file, arguments, environment: environment).exit()
    }

    /// The values and origins that `config --json` prints.
    func config(_ flags: [String], _ environment: [String: String] = [:]) async throws -> [String: JSON] {
        let result = try await run(["config", "--json"] + flags, environment)
        #expect(result.code == 0, "\(result.errors)")
        let settings = try JSON(parsing: Array(result.output.utf8))["settings"]?.array ?? []
        return Dictionary(uniqueKeysWithValues: settings.compactMap { json in json["name"]?.string.map { ($0, json) } })
    }

    @Test func `config prints each setting with its value and its origin`() async throws {
        let (directory, path) = try SettingTests.file(#"{"head-time": "7s", "trusted-proxy": ["10.0.0.0/8"]}"#)
        let environment = ["COORDINATORD_CONFIG": path, "COORDINATORD_HISTORY": "7", "PORT": "9"]

        let table = try await run(["config", "--host", "::1", "--console", "--development"], environment)
        let json = try await config(["--host", "::1", "--console", "--development"], environment)

        let lines = table.output.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
        for line in [
            "host ::1 flag --host", "port 9 environment PORT", "history 7 environment COORDINATORD_HISTORY",
            "head-time 7s file \(path)", "trusted-proxy 10.0.0.0/8 file \(path)", "body-time 15s default",
            "console true flag --console",
        ] {
            #expect(lines.contains(line), "\(line)")
        }
        #expect(Set(json.keys) == Set(Settings.all.map(\.key)))
        #expect(json["port"] == ["name": "port", "value": 9, "origin": "environment", "source": "PORT"])
        #expect(json["console"]?["value"] == true && json["trusted-proxy"]?["value"] == ["10.0.0.0/8"])
        #expect(json["base-path"] == ["name": "base-path", "value": .null, "origin": "default"])
        // Defaults that depend on the machine, or on other settings.
        let memory = json["live-memory"]?["value"]?.string.flatMap(ByteSize.init)
        #expect(memory?.bytes == MachineMemory.size / 4)
        #expect(json["creations-per-second"] == ["name": "creations-per-second", "value": 100, "origin": "default"])
        #expect(json["store-size"]?["value"] == .null)
        #expect(try await config(["--store", "memory"])["store-size"]?["value"] != .null)
        _ = directory
    }

    @Test func `a pipe to which nobody writes is refused, and one to which somebody writes is read`() async throws {
        let (directory, path) = try SettingTests.file("{}")
        let pipe = path + ".pipe"
        #expect(mkfifo(pipe, 0o600) == 0)

        let silent = try await run(["config", "--config", pipe])
        #expect(silent.code == 66, "\(silent)")
        #expect(silent.errors.contains("is a pipe to which nobody has written for 5 seconds"))

        // Written and ended before it is read: the program waits for a slow writer only for a while.
        let line = """
            exec 4< <(echo '{"port": 7}'); wait $!
            exec '\(try Program.server.path)' config --json --config /dev/fd/4
            """
        let written = try await Program(URL(filePath: "/bin/bash"), ["-c", line]).exit()
        let settings = try JSON(parsing: Array(written.output.utf8))["settings"]?.array
        #expect(settings?.first { $0["name"] == "port" }?["value"] == 7, "\(written)")
        _ = directory
    }

    @Test func `secrets are never printed`() async throws {
        let environment = [
            "COORDINATORD_STORE": "postgresql://ann@db/x?sslmode=verify-full",
            "COORDINATORD_STORE_PASSWORD": "hunter2", "COORDINATORD_CONSOLE_TOKEN": "a-token-of-20-letters",
        ]

        let table = try await run(["config", "--console", "--public-console"], environment)
        let json = try await config(["--console", "--public-console"], environment)

        for secret in ["hunter2", "a-token"] { #expect(!table.output.contains(secret) && !"\(json)".contains(secret)) }
        #expect(table.output.contains("(hidden)") && table.output.contains("postgresql://ann@db/x?sslmode=verify-full"))
        #expect(json["store-password-file"]?["hidden"] == true && json["store-password-file"]?["value"] == .null)
        #expect(json["store-password-file"]?["source"] == "COORDINATORD_STORE_PASSWORD")
    }

    @Test(arguments: [
        ("postgresql://ann:pw@h/x", "postgresql://ann:***@h/x"),
        ("postgresql://h/x?password=pw&sslmode=require", "postgresql://h/x?password=***&sslmode=require"),
        ("postgresql://ann@h,i/x?sslpassword=pw", "postgresql://ann@h,i/x?sslpassword=***"),
        ("postgresql://ann:p@w@h/x", "postgresql://ann:***@h/x"), ("sqlite:a:b@c", "sqlite:a:b@c"),
        ("postgresql://ann:pw@\u{301}h/x", "postgresql://ann:***@\u{301}h/x"),
        ("postgresql://ann:p?w@h/x", "postgresql://ann:***@h/x"),
        ("postgresql://h/x?\u{301}password=p&a=b", "postgresql://h/x?\u{301}password=***&a=b"),
        ("postgresql://h:1,i:2/x", "postgresql://h:1,i:2/x"),
    ])
    func `a URI is shown without its password`(uri: String, shown: String) {
        #expect(uri.hidingPassword == shown)
    }

    @Test func `a file is compared with the present settings`() async throws {
        let (directory, present) = try SettingTests.file(#"{"port": 1, "history": 5, "head-time": "10s"}"#)
        let new = "\(directory.path)/new.json"
        try Data(#"{"port": 2, "history": 5, "host": "::"}"#.utf8).write(to: URL(filePath: new))
        let flags = ["config", "--config", present, "--check", new]

        let changed = try await run(flags, ["COORDINATORD_HOST": "::1"])
        let json = try await run(flags + ["--json"], ["COORDINATORD_HOST": "::1"])
        let same = try await run(["config", "--config", present, "--check", present])

        #expect(changed.code == 0)
        #expect(
            changed.output == """
                port: 1 (file \(present)) → 2 (file \(new))
                host: stays ::1 (environment COORDINATORD_HOST); :: in the file has no effect

                """)
        let parsed = try JSON(parsing: Array(json.output.utf8))
        #expect(parsed["changes"]?.array?.count == 1 && parsed["overridden"]?.array?.count == 1)
        #expect(parsed["changes"]?.array?.first?["after"]?["value"] == 2)
        #expect(same.code == 0 && same.output == "\(present) would change nothing.\n")
    }

    @Test func `a wrong new file is refused with its mistakes`() async throws {
        let (directory, path) = try SettingTests.file(#"{"prot": 2, "console": true}"#)

        let wrong = try await run(["config", "--check", path])
        let missing = try await run(["config", "--check", "/nowhere.json"])
        try Data(#"{"console": true}"#.utf8).write(to: URL(filePath: path))
        let contradictory = try await run(["config", "--check", path])

        #expect(wrong.code == 64 && wrong.output == "")
        #expect(
            wrong.errors == """
                Error: \(path): prot: there is no such setting; did you mean port?
                `serve --help` lists the settings, and how they are written.

                """)
        #expect(missing.code == 66 && missing.errors.contains("/nowhere.json cannot be read"))
        #expect(
            contradictory.code == 64 && contradictory.errors.contains("\(path): console needs --console-token-file"))
        _ = directory
    }

    @Test func `a secret that the server would refuse is refused by the check of a file, with the same exit code`()
        async throws
    {
        let (directory, path) = try SettingTests.file(#"{"port": 0}"#)
        let (token, line) = ("\(directory.path)/token", "\(directory.path)/password")
        for file in [token, line] { try Data("\nshort".utf8).write(to: URL(filePath: file)) }
        let database = ["COORDINATORD_STORE": "postgresql://db/x"]
        let console = [
            "COORDINATORD_STORE": "memory", "COORDINATORD_CONSOLE": "true", "COORDINATORD_ADMIN_PORT": "0",
        ]
        let cases: [(environment: [String: String], code: Int32, reason: String)] = [
            (
                ["COORDINATORD_CONSOLE_TOKEN": "short"], 65,
                "line 1 of the environment variable COORDINATORD_CONSOLE_TOKEN has a key that has not 16 to 512"
            ),
            (["COORDINATORD_CONSOLE_TOKEN_FILE": token], 65, "line 2 of \(token) has a key that has not 16 to 512"),
            (["COORDINATORD_CONSOLE_TOKEN_FILE": "/nowhere"], 66, "--console-token-file: /nowhere cannot be read"),
            (["COORDINATORD_STORE_PASSWORD_FILE": line], 66, "the first line of \(line) is no password"),
            (["COORDINATORD_STORE_PASSWORD_FILE": "/nowhere"], 66, "--store-password-file: /nowhere cannot be read"),
            (["COORDINATORD_CONSOLE_TOKEN": "a-token-of-22-letters!"], 0, "\n"),
            (
                ["COORDINATORD_SERVICE_KEY_FILE": token, "COORDINATORD_CONSOLE_TOKEN": "a-token-of-22-letters!"], 65,
                "--service-key-file: line 2 of \(token) has"
            ),
        ]

        for (environment, code, reason) in cases {
            let isPassword = environment.keys.contains { $0.contains("PASSWORD") }
            let all = environment.merging(isPassword ? database : console) { $1 }
            let check = try await run(["config", "--check", path], all)
            #expect(check.code == code && "\(check.errors)\n".contains(reason), "\(environment): \(check)")
            if code != 0 {
                let server = try await run(["serve", "--config", path, "--log-format", "text"], all)
                #expect(server.code == check.code && server.errors == check.errors, "\(environment): \(server)")
            }
        }
    }

    @Test func `the server takes its settings from the environment and a file`() async throws {
        let (directory, path) = try SettingTests.file(#"{"store": "memory", "base-path": "/nav"}"#)
        let token = "a-token-of-22-letters!"
        let program = try Program(
            Program.server, ["serve", "--port", "0"],
            environment: [
                "COORDINATORD_CONFIG": path, "COORDINATORD_PORT": "1", "COORDINATORD_CONSOLE": "true",
                "COORDINATORD_PUBLIC_CONSOLE": "true",
                "COORDINATORD_CONSOLE_TOKEN": token,
            ])
        defer { _ = directory }

        let line = try await program.line()
        let console = try await program.line()
        let port = try #require(line.firstMatch(of: /127\.0\.0\.1:(\d+)/).flatMap { Int($0.output.1) })
        let connection = try Connection(port: port)

        #expect(port != 1 && line.contains("store: memory"))
        #expect(console.contains("/nav/console") && !console.contains(token))
        let created = try await connection.request("POST", "/v1/sessions")
        #expect(created.headers["location"]?.hasPrefix("/nav/v1/sessions/") == true)
        program.signal(SIGTERM)
        #expect(try await program.exit().code == 0)
    }

    @Test func `the commands on a store and on accounts find them by the environment`() async throws {
        let directory = try StorageTests.Directory()
        let environment = [
            "COORDINATORD_STORE": "sqlite:\(directory.path)/nowhere",
            "COORDINATORD_DATA_DIRECTORY": "\(directory.path)/apps",
        ]

        for command in [["sessions", "list"], ["backup", "\(directory.path)/copy"], ["check"]] {
            let result = try await run(command, environment)
            #expect(result.code == 66 && result.errors.contains("\(directory.path)/nowhere"), "\(command): \(result)")
        }
        let accounts = try await run(["accounts", "list"], environment)
        #expect(accounts.errors.contains("there is no \(directory.path)/apps/accounts.sqlite"))
        let flag = try await run(["sessions", "list", "--store", "sqlite:/nowhere/else"], environment)
        #expect(flag.errors.contains("/nowhere/else"))
    }

    @Test func `health asks the port of the environment, and a command without a store names the layer`() async throws {
        let health = try await run(["health", "--timeout", "\(hangLimit)"], ["COORDINATORD_PORT": "1"])
        let list = try await run(["sessions", "list"], ["COORDINATORD_STORE": "memory"])

        #expect(health.code == 1 && health.errors.contains("127.0.0.1:1: connection refused"))
        #expect(list.code == 64 && list.errors.contains("the environment variable COORDINATORD_STORE must be sqlite:"))
    }

    @Test func `no file to check, and a NUL in a value, are mistakes`() async throws {
        let (directory, path) = try SettingTests.file(
            #"{"host": "127.0.0.1\u0000.example", "store": "sqlite:a\u0000b"}"#)
        let empty = try await run(["config", "--check", ""])
        let wrong = try await run(["config", "--config", path])
        #expect(empty.code == 64 && empty.errors.contains("--check") && empty.errors.contains("It is empty."))
        #expect(wrong.code == 64 && wrong.errors.contains("\(path): host: It has a NUL character."))
        #expect(wrong.errors.contains("\(path): store: It has a NUL character."))
        _ = directory
    }

    @Test func `one port for two purposes is refused, and too few descriptors`() async throws {
        let same = try await run(["config", "--port", "4711", "--admin-port", "4711"])
        #expect(same.code == 64 && same.errors.contains("--admin-port is the port of the API, too; choose another."))
        #expect(try await run(["config", "--port", "0", "--admin-port", "0"]).code == 0)
        let few = try await Program(
            URL(filePath: "/usr/bin/env"),
            ["prlimit", "--nofile=79", Program.server.path, "serve", "--port", "0", "--store", "memory"]
        ).exit()
        #expect(few.code == 69 && few.errors.contains("may open 79 files (ulimit -n), and needs 80 at least"))
    }

    @Test func `every command with settings refuses an unknown variable, and help does not`() async throws {
        let environment = ["COORDINATORD_STOER": "memory"]

        for command in [["serve"], ["config"], ["check"], ["sessions", "list"], ["migrate"], ["accounts", "list"]] {
            let result = try await run(command, environment)
            #expect(result.code == 64 && result.output == "")
            #expect(
                result.errors == """
                    Error: the environment variable COORDINATORD_STOER: there is no such setting; did you mean \
                    COORDINATORD_STORE?
                    `serve --help` lists the settings, and how they are written.

                    """)
        }
        #expect(try await run(["serve", "--help"], environment).code == 0)
        #expect(try await run(["--version"], environment).code == 0)
    }

    @Test func `a program of an author has the same settings, and its own options`() async throws {
        let (directory, path) = try SettingTests.file(#"{"store": "memory", "port": 0}"#)
        let environment = ["COORDINATORD_CONFIG": path, "COORDINATORD_DEVELOPMENT": "true"]

        let program = try Program(Program.oddServer, ["serve", "--weather", "fair"], environment: environment)
        let line = try await program.line()
        let shown = try await run(["config", "--weather", "fair"], environment, program: "oddserver")
        let unknown = try await run(["serve", "--wether", "fair"], environment, program: "oddserver")

        #expect(line.contains("oddserver 7.1 (coordinatord 0.1.0) listening on "))
        #expect(shown.code == 0 && !shown.output.contains("weather"))
        #expect(unknown.code == 64 && unknown.errors.contains("Did you mean '--weather'"))
        program.signal(SIGTERM)
        #expect(try await program.exit().code == 0)
        _ = directory
    }

    @Test func `the help of serve has every setting under its topic`() async throws {
        let help = try await run(["serve", "--help"]).output

        for case let group as any SettingGroup in Settings().parts {
            #expect(help.contains("\n\(type(of: group).title.uppercased()):\n"), "\(group)")
        }
        let flags = Set(help.matches(of: /--[a-z-]+/).map { String($0.output) })
        for row in Settings.all { #expect(flags.contains(row.flag)) }
        let known = Set(Settings.all.map(\.flag) + Settings.all.map { "--no-\($0.name)" } + ["--help", "--version"])
        #expect(flags.subtracting(known) == [])
    }

    @Test(arguments: [("--markdown", "docs/settings.md"), ("--man", "docs/coordinatord.8")])
    func `what scripts describe writes is up to date`(flag: String, path: String) async throws {
        let text = try await run(["config", flag]).output

        let page = try String(contentsOf: repository.appending(path: path), encoding: .utf8)
        #expect(
            flag == "--man" ? page == text : page.contains("<!-- begin -->\n\(text)<!-- end -->"),
            "run scripts/describe")
    }

    @Test func `the transcript of the document is what the program prints`() async throws {
        let document = try String(contentsOf: repository.appending(path: "docs/settings.md"), encoding: .utf8)
        let step = try #require(TranscriptTests.steps(in: document).first)
        let directory = try Program.server.deletingLastPathComponent().path

        let result = try await Program(
            URL(filePath: "/bin/bash"), ["-c", "PATH=\(directory):$PATH; \(step.command)"]
        ).exit()

        #expect(result.output == step.output && step.output.contains("--port"))
    }

    @Test(arguments: ["coordinatord", "oddserver"])
    func `the manual page is drawn without a warning`(program: String) async throws {
        let page = try await run(["config", "--man"], program: program).output
        let file = FileManager.default.temporaryDirectory.appending(path: "page-\(UUID()).8")
        try Data(page.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }

        let drawn = try await Program(
            URL(filePath: "/usr/bin/env"), ["groff", "-man", "-ww", "-Tutf8", "-P-cbou", file.path]
        ).exit()

        #expect(drawn.code == 0 && drawn.errors == "")
        for row in Settings.all { #expect(drawn.output.contains(row.variable)) }
        #expect(drawn.output.contains("--idle-expiry time"))
    }

    @Test(arguments: ["bash", "zsh", "fish"])
    func `there are completions for every flag`(shell: String) async throws {
        let script = try await run(["--generate-completion-script", shell])

        #expect(script.code == 0)
        for row in Settings.all { #expect(script.output.contains(row.key)) }
    }
}
