import Foundation
import JSONCoding
import TestSupport
import Testing

/// What the program writes for an app's clients. `scripts/test-typed` compiles it.
@Suite struct DescribeTests {
    /// - Returns: the errors without the progress, which is reported on a slow machine.
    private static func describe(
        _ arguments: String..., by program: URL? = nil
    ) async throws -> (code: Int32, output: String, errors: String) {
        let command = ["describe", "--event-time", "\(hangLimit)"] + arguments
        var result = try await Program(program ?? Program.server, command).exit()
        result.errors = result.errors.withoutProgress
        return result
    }

    @Test func `main in Swift`() async throws {
        let result = try await DescribeTests.describe("main", "--as", "swift")

        #expect(
            result.output == """
                // App “main”, version 1. Written by `coordinatord describe main --as swift`.

                public import CoordinatorClient

                public enum MainApp {
                    public static let name = "main"
                    /// The version of the app that this file describes.
                    public static let version = 1

                    /// What the screens of “main” send.
                    public enum Main {
                        /// Button 01 tapped
                        public static func button01Tapped(_ payload: Int) -> NavigationEvent {
                            NavigationEvent("button01Tapped", payload)
                        }

                        /// Button 02 tapped
                        public static func button02Tapped(_ payload: String) -> NavigationEvent {
                            NavigationEvent("button02Tapped", payload)
                        }
                    }

                    /// A screen. It is `unknown` if this file does not have it, or if its parameters are others.
                    public enum Screen: Sendable {
                        case a
                        case c(CParams)
                        case f(FParams)
                        case unknown(CoordinatorClient.Screen)

                        public init(_ screen: CoordinatorClient.Screen) {
                            switch screen.name {
                            case "a":
                                self = .a
                            case "c":
                                if let params = screen.params(as: CParams.self) {
                                    self = .c(params)
                                } else {
                                    self = .unknown(screen)
                                }
                            case "f":
                                if let params = screen.params(as: FParams.self) {
                                    self = .f(params)
                                } else {
                                    self = .unknown(screen)
                                }
                            default: self = .unknown(screen)
                            }
                        }

                        public struct CParams: Codable, Hashable, Sendable {
                            public let number: Int

                            public init(number: Int) {
                                self.number = number
                            }
                        }

                        public struct FParams: Codable, Hashable, Sendable {
                            public let text: String

                            public init(text: String) {
                                self.text = text
                            }
                        }
                    }
                }

                """)
        #expect(result.errors == "" && result.code == 0)
    }

    @Test func `main in TypeScript`() async throws {
        let result = try await DescribeTests.describe("main", "--as", "typescript")

        #expect(
            result.output == #"""
                // App “main”, version 1. Written by `coordinatord describe main --as typescript`.

                import type { NavigationEvent, Screen as AnyScreen } from "coordinator-client";

                export const app = "main";
                /** The version of the app that this file describes. */
                export const version = 1;

                /** The events, by the coordinator whose screens send them. */
                export const events = {
                    main: {
                        /** Button 01 tapped */
                        button01Tapped: (payload: number): NavigationEvent => ({ type: "button01Tapped", payload }),
                        /** Button 02 tapped */
                        button02Tapped: (payload: string): NavigationEvent => ({ type: "button02Tapped", payload }),
                    },
                };

                /** A screen. It is `unknown` if this file does not have it, or if its parameters are others. */
                export type Screen =
                    | { readonly kind: "a"; readonly screen: AnyScreen }
                    | { readonly kind: "c"; readonly params: { number: number }; readonly screen: AnyScreen }
                    | { readonly kind: "f"; readonly params: { text: string }; readonly screen: AnyScreen }
                    | { readonly kind: "unknown"; readonly screen: AnyScreen };

                export function screenOf(screen: AnyScreen): Screen {
                    const params: any = screen.params ?? {};
                    switch (screen.name) {
                        case "a":
                            return { kind: "a", screen };
                        case "c":
                            if (typeof params["number"] === "number") return { kind: "c", params, screen };
                            break;
                        case "f":
                            if (typeof params["text"] === "string") return { kind: "f", params, screen };
                            break;
                    }
                    return { kind: "unknown", screen };
                }

                """#)
        #expect(result.code == 0)
    }

    @Test(arguments: ["swift", "kotlin", "typescript"])
    func `a name that is no identifier becomes one`(language: String) async throws {
        let result = try await DescribeTests.describe("naming", "--as", language, by: Program.oddServer)

        let expected =
            switch language {
            case "swift":
                [
                    "public enum NamingApp", "public enum String_ {", "func `default`() -> NavigationEvent",
                    "func `repeat`(`in`: Int, `for`: String? = nil)", "case isOn = \"is-on\"",
                    "case `class`(ClassParams)",
                    "case unknown_", "case myScreen", "public static let myButton_ = \"myButton\"",
                    #"(rawValue: "say \"$1\"")"#, "public let _2nd: JSONValue",
                ]
            case "kotlin":
                [
                    "object String_ {", "fun default() = NavigationEvent",
                    "fun repeat(`in`: Long, `for`: String? = null)",
                ]
            default: ["string: {", "default: (): NavigationEvent", #""is-on"?: boolean | null"#, #""2nd": unknown"#]
            }
        for text in expected { #expect(result.output.contains(text), "\(text)") }
        #expect(!result.output.contains("*/ \n"))
        #expect(result.code == 0)
    }

    /// Compares an app with an older description.
    private func comparison(
        of app: String, with old: String, by program: URL? = nil
    ) async throws -> (code: Int32, output: String, errors: String) {
        let file = FileManager.default.temporaryDirectory.appending(path: "description-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        try old.write(toFile: file, atomically: true, encoding: .utf8)
        return try await DescribeTests.describe(app, "--compare", file, by: program)
    }

    @Test(arguments: ["main", "shop"])
    func `an unchanged app breaks nobody, and is described alike each time`(app: String) async throws {
        let first = try await DescribeTests.describe(app).output
        let second = try await DescribeTests.describe(app).output

        let file = FileManager.default.temporaryDirectory.appending(path: "description-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        try first.write(toFile: file, atomically: true, encoding: .utf8)
        let read = try await DescribeTests.describe(app, "--from", file).output
        // The other comparisons are with the app, which takes longer.
        let result = try await DescribeTests.describe(app, "--from", file, "--compare", file)

        #expect(read == first)
        #expect(first == second && first.hasPrefix("{\n  \"name\": \"\(app)\",\n  \"version\": 1,"))
        #expect(result.output == "nothing has changed for clients\n")
        #expect(result.code == 0)
    }

    /// Older than `main`, which has lost and changed some of it.
    private static let older = """
        {"name": "main", "version": 1, "builtInEvents": [], "links": ["/items/{id}"], "coordinators": [{"name": "main",
         "events": [
          {"type": "button01Tapped", "title": "", "schema": {"type": "number"}},
          {"type": "button02Tapped", "title": "", "schema": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
          {"type": "button03Tapped", "title": ""}]}],
         "screens": [
          {"name": "a", "source": "observed", "coordinators": ["main"], "tabs": [{"id": "home"}], "hasContent": true},
          {"name": "c", "source": "declared", "coordinators": ["main"], "params": {"type": "object",
            "properties": {"number": {"type": "string"}, "size": {"type": "integer"}}, "required": ["number"]}},
          {"name": "g", "source": "observed", "coordinators": ["main"]}],
         "alerts": [{"coordinator": "main", "source": "observed", "buttons": [{"id": "yes", "title": "Yes"}]}]}
        """

    @Test func `what clients relied on is named, and the exit code is 1`() async throws {
        let result = try await comparison(of: "main", with: DescribeTests.older)

        let expected = [
            "breaks clients that post “button01Tapped” to main: payload must be an integer, not a number",
            "breaks clients that post “button02Tapped” to main: payload must not be null any more",
            "breaks clients that post “button03Tapped” to main: the event is gone",
            "breaks clients that draw “a”: it has no content any more",
            "breaks clients that draw “a”: the tab “home” is gone",
            "breaks clients that draw “c”: params.number is an integer, not a text",
            "breaks clients that draw “c”: params.size is gone",
            "breaks clients that draw “g”: the screen is gone",
            "breaks clients that answer alerts of main: the button “yes” is gone",
            "breaks links “/items/{id}”: no coordinator opens them any more",
            "harmless: screen “f”",
        ]
        #expect(result.output == expected.map { $0 + "\n" }.joined())
        #expect(result.code == 1)
    }

    @Test func `what a payload must have besides, and what is narrower, breaks clients`() async throws {
        let result = try await comparison(
            of: "shop",
            with: """
                {"name": "shop", "version": 1, "builtInEvents": [], "links": ["/products/{number:integer}?ref={ref}"],
                 "coordinators": [
                  {"name": "checkout", "events": [{"type": "submitAddress", "title": "", "schema": {"type": "object",
                    "properties": {"street": {"type": "string"}, "city": {"type": "string"}}, "required": ["street"]}}]},
                  {"name": "search", "events": [{"type": "search", "title": "",
                    "schema": {"type": "string", "maxLength": 200}}]},
                  {"name": "home", "events": [{"type": "product", "title": ""}]},
                  {"name": "old", "events": [{"type": "signOut", "title": ""}]}]}
                """)

        let breaks = result.output.split(separator: "\n").filter { !$0.hasPrefix("harmless: ") }
        #expect(
            breaks == [
                "breaks clients that post “submitAddress” to checkout: payload.street has a higher minLength now, 1",
                "breaks clients that post “submitAddress” to checkout: payload.city must be there",
                "breaks clients that post “submitAddress” to checkout: payload.city has a higher minLength now, 1",
                "breaks clients that post “search” to search: payload has a lower maxLength now, 100",
                "breaks clients that post “product” to home: it must have a payload",
            ])
        #expect(result.output.contains("harmless: “signOut” of old belongs to another coordinator\n"))
        #expect(result.output.contains("harmless: link “/cart”\n") && !result.output.contains("/products"))
        #expect(result.code == 1)
    }

    @Test func `what a device of a role could do, and may not any more, breaks it`() async throws {
        let result = try await comparison(
            of: "kiosk",
            with: """
                {"name": "kiosk", "version": 1, "builtInEvents": [], "links": [],
                 "roles": [{"name": "phone", "mayAct": true, "mayEndOthers": true},
                  {"name": "terminal", "mayAct": true, "mayEndOthers": true, "gives": ["board", "phone"]},
                  {"name": "board", "mayAct": true}, {"name": "gate", "mayAct": false}],
                 "coordinators": [{"name": "kiosk", "events": [{"type": "begin", "title": ""}]}]}
                """)

        let breaks = result.output.split(separator: "\n").filter { $0.hasPrefix("breaks ") }
        #expect(
            breaks == [
                "breaks clients that post “begin” to kiosk: it is no longer for the role “phone”",
                "breaks clients that post “begin” to kiosk: it is no longer for the role “board”",
                "breaks devices that open sessions: their role is “terminal”, not “phone”",
                "breaks devices of the role “phone”: they may not revoke others, fork or end the session any more",
                "breaks devices of the role “terminal”: they do not give “phone” any more",
                "breaks devices of the role “board”: they may only look",
                "breaks devices of the role “gate”: it is gone, so they may only look",
            ])
        #expect(result.code == 1)
        let file = try await DescribeTests.describe("kiosk", "--as", "swift").output
        #expect(file.contains(": only for terminal.\n") && file.contains(#"public static let board = "board""#))
    }

    @Test func `bounds of a session are compared with those of a session, not with what is declared without one`()
        async throws
    {
        func description(_ source: String, _ maximum: Int) -> String {
            """
            {"name": "bounds", "version": 1, "builtInEvents": [], "links": [], "coordinators": [{"name": "bounds",
             "events": [{"type": "order", "title": "Order", \(source) "schema": {"type": "integer",
               "maximum": \(maximum)}}]}]}
            """
        }
        let file = FileManager.default.temporaryDirectory.appending(path: "description-\(UUID())").path
        let old = file + "-old"
        defer { for path in [file, old] { try? FileManager.default.removeItem(atPath: path) } }
        let observed = #""source": "observed","#
        try description(observed, 5).write(toFile: file, atomically: true, encoding: .utf8)

        for (source, isCompared) in [(observed, true), ("", false)] {
            try description(source, 9).write(toFile: old, atomically: true, encoding: .utf8)
            let result = try await DescribeTests.describe("bounds", "--from", file, "--compare", old)
            #expect(result.output.contains("a lower maximum now, 5") == isCompared, "\(result)")
            #expect(result.code == (isCompared ? 1 : 0))
        }
    }

    @Test func `an alias keeps an event's old name`() async throws {
        let result = try await comparison(
            of: "naming",
            with: """
                {"name": "naming", "version": 1, "builtInEvents": [], "links": [],
                 "coordinators": [{"name": "namingChild", "events": [{"type": "buy", "title": "Buy"}]}]}
                """, by: Program.oddServer)

        #expect(result.output.contains("harmless: “buy” of namingChild is an alias of “purchase”\n"))
        #expect(!result.output.contains("breaks") && !result.output.contains("event “purchase”"))
        #expect(result.code == 0)
    }

    @Test(arguments: [
        ("", "ends too early"), ("[]", "is no description of an app"), (#"{"name":"main"}"#, "“version”"),
    ])
    func `a file that is no description is refused`(text: String, reason: String) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "description-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        try text.write(toFile: file, atomically: true, encoding: .utf8)

        let result = try await DescribeTests.describe("main", "--compare", file)

        #expect(result.code == 65 && result.errors.contains(reason), "\(result.errors)")
    }
}
