import ArgumentParser
import Foundation
import JSONCoding
import Testing
import TestSupport

@testable import CoordinatorServer

/// Where settings come from, and what is wrong with them.
@Suite(.enabled(if: isComplete)) struct SettingTests {
    static func file(_ text: String) throws -> (directory: StorageTests.Directory, path: String) {
        let directory = try StorageTests.Directory()
        let path = "\(directory.path)/settings.json"
        try Data(text.utf8).write(to: URL(filePath: path))
        return (directory, path)
    }

    static func resolve(
        _ flags: [String] = [], _ environment: [String: String] = [:], file: String? = nil
    ) throws(SettingFailure) -> SettingResolution {
        try SettingResolution(of: Settings.all, flags: given(by: flags), environment: environment, file: file)
    }

    static func given(by flags: [String]) -> [String: SettingValue] {
        // It takes longer than the test around it.
        if flags.isEmpty { return [:] }
        do { return try SettingFlags<Settings>.parse(flags).values } catch {
            Issue.record("\(flags): \(error)")
            return [:]
        }
    }

    /// The error of settings that must be refused.
    static func failure(
        _ flags: [String] = [], _ environment: [String: String] = [:], file: String? = nil
    ) -> SettingFailure? {
        do throws(SettingFailure) { _ = try resolve(flags, environment, file: file) } catch { return error }
        return nil
    }

    @Test(arguments: [
        // number, size, time, text, path, several values, store
        ("port", "1", "2", "3", "3"), ("body-size", "1K", "2K", "3K", #""3K""#),
        ("head-time", "1s", "2s", "3s", #""3s""#),
        ("host", "::1", "::", "localhost", #""localhost""#), ("data-directory", "a", "b", "c", #""c""#),
        ("trusted-proxy", "10.0.0.1", "10.0.0.2", "10.0.0.3", #"["10.0.0.3"]"#),
        ("store", "memory", "sqlite:a", "sqlite:b", #""sqlite:b""#),
        ("durability", "relaxed", "strict", "relaxed", #""relaxed""#),
        ("base-path", "/a", "/b", "/c", #""/c""#), ("live-memory", "1M", "2M", "3M", "3145728"),
    ])
    func `a flag comes before the environment, that before a file, and that before the default`(
        name: String, flag: String, variable: String, member: String, json: String
    ) throws {
        let (directory, path) = try SettingTests.file("{\"\(name)\": \(json)}")
        let environment = ["COORDINATORD_" + name.uppercased().replacing("-", with: "_"): variable]

        let all = try SettingTests.resolve(["--\(name)", flag], environment, file: path)
        let withoutFlag = try SettingTests.resolve([], environment, file: path)
        let onlyFile = try SettingTests.resolve([], [:], file: path)
        let none = try SettingTests.resolve()

        #expect(all[name]?.texts == [flag] && all[name]?.source == "--\(name)")
        #expect(withoutFlag[name]?.texts == [variable])
        #expect(withoutFlag[name]?.source == environment.keys.first ?? "")
        let size = ByteSize(member).map { "\($0.bytes)" } ?? member
        #expect([member, size].contains(onlyFile[name]?.texts.first) && onlyFile[name]?.source == path)
        #expect(none[name]?.layer == .default)
        _ = directory
    }

    @Test func `true and false override each other across layers`() throws {
        let (directory, path) = try SettingTests.file(#"{"development": true}"#)
        let off = ["COORDINATORD_DEVELOPMENT": "false"]

        func isDevelopment(_ flags: [String], _ environment: [String: String]) throws -> Bool {
            try SettingTests.resolve(flags, environment, file: path).value(of: Settings.Apps().development)
        }
        #expect(try isDevelopment([], [:]))
        #expect(try !isDevelopment([], off))
        #expect(try isDevelopment(["--development"], off))
        #expect(try !isDevelopment(["--no-development"], [:]))
        #expect(try SettingTests.resolve(["--no-development"])["development"]?.source == "--no-development")
        _ = directory
    }

    @Test func `a list of a higher layer replaces that of a lower one, also with no elements`() throws {
        let (directory, path) = try SettingTests.file(#"{"allow-origin": []}"#)
        let variable = ["COORDINATORD_ALLOW_ORIGIN": "https://a.example, https://b.example"]

        let both = try SettingTests.resolve([], variable)
        let flags = try SettingTests.resolve(
            ["--allow-origin", "https://c.example", "--allow-origin=https://d.example"], variable)
        let empty = try SettingTests.resolve([], [:], file: path)

        #expect(both["allow-origin"]?.texts == ["https://a.example", "https://b.example"])
        #expect(flags["allow-origin"]?.texts == ["https://c.example", "https://d.example"])
        #expect(empty["allow-origin"]?.texts == [] && empty["allow-origin"]?.source == path)
        _ = directory
    }

    @Test func `PORT comes after the variable of the setting, and before a file`() throws {
        let (directory, path) = try SettingTests.file(#"{"port": 3}"#)

        let platform = try SettingTests.resolve([], ["PORT": "2"], file: path)
        let own = try SettingTests.resolve([], ["PORT": "2", "COORDINATORD_PORT": "1"], file: path)

        #expect(platform["port"]?.texts == ["2"] && platform["port"]?.source == "PORT")
        #expect(own["port"]?.texts == ["1"])
        #expect(
            SettingTests.failure([], ["PORT": "x"])?.reasons
                == ["the environment variable PORT: “x” is not a number from 0 to 65535."])
        _ = directory
    }

    @Test func `an empty variable counts as one that is not set, and an empty value elsewhere is an error`() throws {
        let (directory, path) = try SettingTests.file(#"{"host": ""}"#)
        let empty = ["COORDINATORD_HOST": "", "COORDINATORD_CONFIG": "", "COORDINATORD_NONSENSE": "", "PORT": ""]

        #expect(try SettingTests.resolve([], empty)["host"]?.layer == .default)
        #expect(SettingTests.failure(["--host", ""])?.reasons == ["--host: It is empty."])
        #expect(SettingTests.failure([], [:], file: path)?.reasons == ["\(path): host: It is empty."])
        _ = directory
    }

    /// A file with a console.
    private static let console = #"{"console": true, "console-token-file": "t", "admin-port": 0}"#

    @Test(
        arguments: [
            (["--port", "70000"], [:], "{}", "--port: “70000” is not a number from 0 to 65535."),
            (
                [], ["COORDINATORD_HEAD_TIME": "soon"], "{}",
                "the environment variable COORDINATORD_HEAD_TIME: “soon” is not a time from 1s to 1h. A time is a whole number"
            ),
            (
                [], ["COORDINATORD_CONSOLE": "yes"], "{}",
                "the environment variable COORDINATORD_CONSOLE: “yes” is not true or false."
            ),
            (
                [], ["COORDINATORD_PROT": "1"], "{}",
                "COORDINATORD_PROT: there is no such setting; did you mean COORDINATORD_PORT?"
            ),
            ([], ["COORDINATORD_ZEBRA_STRIPES": "1"], "{}", "COORDINATORD_ZEBRA_STRIPES: there is no such setting."),
            (
                [], [:], #"{"idle-expirey": "1h"}"#,
                "FILE: idle-expirey: there is no such setting; did you mean idle-expiry?"
            ),
            (
                [], [:], #"{"store-password": "x"}"#,
                "FILE: store-password: a secret does not stand in this file; write store-password-file"
            ),
            ([], [:], #"{"config": "x"}"#, "FILE: config: a file cannot name another one."),
            ([], [:], #"{"port": "8080"}"#, "FILE: port: It must be a whole number."),
            ([], [:], #"{"port": null}"#, "FILE: port: It must be a whole number."),
            ([], [:], #"{"console": "true"}"#, "FILE: console: It must be true or false."),
            ([], [:], #"{"host": 1}"#, "FILE: host: It must be a string."),
            ([], [:], #"{"trusted-proxy": "10.0.0.1"}"#, "FILE: trusted-proxy: It must be an array of strings."),
            ([], [:], #"{"trusted-proxy": ["10.0.0.1", 7]}"#, "FILE: trusted-proxy: It must be an array of strings."),
            ([], [:], #"{"body-size": "1G"}"#, "FILE: body-size: “1G” is not a size from 1K to 16M."),
            ([], [:], "[]", "FILE: It must be a JSON object"),
            ([], [:], "", "FILE: line 1, column 1: the file ends too early."),
            (
                [], [:], "{\n  \"port\": 1,\n  \"port\": 2}",
                "FILE: line 3, column 3: the file has a name twice in one object."
            ),
            ([], [:], "{\n  port: 1}", "FILE: line 2, column 3: the file is not JSON."),
            ([], [:], "{} # comment", "FILE: line 1, column 4: the file goes on after its JSON value."),
            (
                [], ["COORDINATORD_CONSOLE": "true", "COORDINATORD_ADMIN_PORT": "0"], "{}",
                "COORDINATORD_CONSOLE needs --console-token-file, or COORDINATORD_CONSOLE_TOKEN"
            ),
            (
                [], ["COORDINATORD_CONSOLE": "true", "COORDINATORD_CONSOLE_TOKEN": "t"], "{}",
                "COORDINATORD_CONSOLE needs --admin-port, a port that only operators reach, or --public-console"
            ),
            (["--console", "--admin-port", "0"], ["COORDINATORD_CONSOLE_TOKEN": "t"], "{}", nil),
            (["--console", "--public-console"], ["COORDINATORD_CONSOLE_TOKEN": "t"], "{}", nil),
            (["--console", "--development"], [:], "{}", nil),
            (["--public-console"], [:], "{}", "--public-console is for --console."),
            (["--store", "memory"], [:], #"{"store-size": "1M", "store": "postgresql://db/x"}"#, nil),
            (
                [], [:], #"{"store-size": "1M", "store": "postgresql://db/x"}"#,
                "FILE: store-size is for a store in memory or in a file"
            ),
            (
                [], ["COORDINATORD_STORE_PASSWORD": "p"], #"{"store": "memory"}"#,
                "COORDINATORD_STORE_PASSWORD is for --store postgresql:"
            ),
            (
                ["--store", "memory"], ["COORDINATORD_STORE_PASSWORD": "p", "COORDINATORD_STORE": "postgresql://db/x"],
                "{}", nil
            ),
            (
                [], ["COORDINATORD_CONSOLE_TOKEN": "t", "COORDINATORD_CONSOLE_TOKEN_FILE": "f"], "{}",
                "exclude each other"
            ),
            ([], ["COORDINATORD_CONSOLE_TOKEN": "t"], "{}", "COORDINATORD_CONSOLE_TOKEN is for --console."),
            (
                ["--log-level", "warning"], [:], console,
                "--log-level leaves out the audit log of --console; add audit=notice to it."
            ),
            (
                [], ["COORDINATORD_LOG_LEVEL": "info,audit=error"], console,
                "COORDINATORD_LOG_LEVEL leaves out the audit"
            ),
            (["--log-level", "warning,audit=notice"], [:], console, nil),
            (["--log-level", "warning"], [:], "{}", nil),
            (["--admin-host", "::"], [:], "{}", "--admin-host is for --admin-port."),
            (["--admin-host", "::"], ["COORDINATORD_ADMIN_PORT": "0"], "{}", nil),
            (
                ["--data-directory", "d", "--store", "memory"], [:], "{}",
                "--data-directory is for a store that outlives the process"
            ),
            (["--store", "memory"], ["COORDINATORD_DATA_DIRECTORY": "d"], "{}", nil),
            (["--store", "memory"], [:], "{}", nil),
            (
                [], [:], #"{"access-log": "1%", "log-level": "warning"}"#,
                "FILE: access-log writes lines of level info, which --log-level leaves out; add access=info to it."
            ),
            ([], [:], #"{"access-log": "all", "log-level": "error,access=info"}"#, nil),
            (["--access-log", "all"], [:], #"{"log-level": "info,access=notice"}"#, "--access-log writes lines"),
            (["--access-log", "off", "--log-level", "error"], [:], "{}", nil),
            (["--log-level", "error"], ["COORDINATORD_ACCESS_LOG": "all"], "{}", nil),
            (
                ["--idle-expiry", "2h", "--absolute-expiry", "60m"], [:], "{}",
                "--idle-expiry is longer than --absolute-expiry, after which a session ends anyway."
            ),
            (["--idle-expiry", "31d"], [:], "{}", "--idle-expiry is longer than"),
            (["--idle-expiry", "2h", "--absolute-expiry", "120m"], [:], "{}", nil),
            (["--absolute-expiry", "1h"], [:], "{}", nil),
            (["--absolute-expiry", "1h"], [:], #"{"idle-expiry": "2h"}"#, nil),
        ] as [([String], [String: String], String, String?)])
    func `a mistake names its layer and the setting`(
        flags: [String], environment: [String: String], text: String, reason: String?
    ) throws {
        let (directory, path) = try SettingTests.file(text)

        let failure = SettingTests.failure(flags, environment, file: path)

        guard let reason else { return #expect(failure == nil) }
        #expect(failure?.code == 64 && failure?.reasons.count == 1)
        let first = try #require(failure?.reasons.first)
        #expect(first.contains(reason.replacing("FILE", with: path)), "\(first)")
        _ = directory
    }

    @Test(arguments: [
        ("head-time", "1h"), ("body-time", "1h"), ("answer-time", "1h"), ("idle-time", "1h"), ("drain-delay", "1h"),
        ("drain-time", "1h"), ("absolute-expiry", "3650d"), ("idle-expiry", "3650d"),
    ])
    func `a time has an upper bound, which the help and the error name`(name: String, most: String) throws {
        let most = try #require(Span(most))
        let least = name == "drain-delay" ? "0s" : "1s"
        let expiry = name == "idle-expiry" ? ["--absolute-expiry", "\(most)"] : []

        #expect(throws: Never.self) { try SettingTests.resolve(["--\(name)", "\(most)"] + expiry) }
        for text in ["\(Int(most.seconds) + 1)s", "9223372036854775807d"] {
            let failure = SettingTests.failure(["--\(name)", text])
            #expect(
                failure?.reasons == ["--\(name): “\(text)” is not a time from \(least) to \(most). \(Span.form)"])
        }
        #expect(Settings.all.first { $0.name == name }?.bounds == "a time from \(least) to \(most)")
        #expect(Settings.all.count { $0.kind == .time } == 8)
    }

    @Test func `all mistakes of all layers are reported`() throws {
        let (directory, path) = try SettingTests.file(#"{"prot": 1, "host": 2}"#)

        let failure = SettingTests.failure(["--port", "x"], ["COORDINATORD_HISTORY": "y"], file: path)

        #expect(failure?.reasons.count == 4)
        _ = directory
    }

    @Test func `what Kubernetes sets for a service of this name is ignored`() throws {
        let links = [
            "COORDINATORD_PORT": "tcp://10.0.0.1:80", "COORDINATORD_SERVICE_HOST": "10.0.0.1",
            "COORDINATORD_SERVICE_PORT": "80", "COORDINATORD_SERVICE_PORT_HTTP": "80",
            "COORDINATORD_PORT_80_TCP": "tcp://10.0.0.1:80", "COORDINATORD_PORT_80_TCP_ADDR": "10.0.0.1",
            "COORDINATORD_PORT_80_TCP_PORT": "80", "COORDINATORD_PORT_80_TCP_PROTO": "tcp",
            "COORDINATORD_INTERNAL_SERVICE_HOST": "10.0.0.1", "COORDINATORD_INTERNAL_PORT": "tcp://10.0.0.1:80",
        ]

        #expect(try SettingTests.resolve([], links)["port"]?.layer == .default)
        for row in Settings.all {
            for name in row.variables { #expect(!OtherVariables.isServiceLink(name, "1"), "\(name)") }
        }
        #expect(SettingTests.failure([], ["COORDINATORD_PORTS": "1"]) != nil)
    }

    @Test(arguments: [
        "postgresql://ann:hunter2@h/x", "postgresql://h/x?password=hunter2", "postgresq://ann:hunter2@h/x",
        "//ann:hunter2@h/x", "hunter2@h", "postgresql://ann:hunter2@[h/x",
    ])
    func `an error never repeats a password`(store: String) throws {
        let (directory, path) = try SettingTests.file("{\"store\": \"\(store)\"}")

        let failures = [
            SettingTests.failure(["--store", store]), SettingTests.failure([], ["COORDINATORD_STORE": store]),
            SettingTests.failure([], [:], file: path),
            SettingTests.failure([], ["COORDINATORD_STORE_PASSWORD": "hunter2", "COORDINATORD_STORE": "memory"]),
        ]

        for failure in failures {
            let failure = try #require(failure)
            #expect(!failure.reasons.joined().contains("hunter2"), "\(failure.reasons)")
        }
        _ = directory
    }

    @Test func `a file that is too large is refused, and one that cannot be read is named with the cause`() throws {
        let (directory, path) = try SettingTests.file(#"{"host": ""# + String(repeating: "x", count: 70_000) + "\"}")

        #expect(SettingTests.failure([], [:], file: path)?.reasons == ["\(path) has more than 64K"])
        let folder = SettingTests.failure(["--config", directory.path])
        #expect(folder?.code == 66 && folder?.reasons == ["\(directory.path) cannot be read: is a directory"])
        let missing = SettingTests.failure([], ["COORDINATORD_CONFIG": "/nowhere/x.json"])
        #expect(
            missing?.code == 66 && missing?.reasons == ["/nowhere/x.json cannot be read: no such file or directory"])
    }

    @Test(.enabled(if: getuid() == 0)) func `a file of another user is named with the cause`() async throws {
        let (directory, path) = try SettingTests.file("{}")
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: directory.path)
        try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: path)

        let result = try await Program(
            URL(filePath: "/usr/bin/setpriv"),
            ["--reuid", "65534", "--clear-groups", Program.server.path, "config", "--config", path]
        ).exit()

        #expect(result.code == 66 && result.errors == "Error: \(path) cannot be read: permission denied\n")
    }

    @Test func `no flags have no values`() throws {
        #expect(try SettingFlags<Settings>.parse([]).values.isEmpty)
    }

    @Test func `every default of the table is a value, and every name is there once`() {
        for row in Settings.all {
            #expect(throws: Never.self, "\(row.name)") { _ = try row.standard.map(row.form.parse) }
        }
        #expect(Set(Settings.all.map(\.key)).count == Settings.all.count)
        #expect(Set(Settings.all.flatMap(\.variables)).count == Settings.all.flatMap(\.variables).count)
    }
}
