/// What clients in TypeScript need to know of an app: types beside the library `coordinator-client`.
///
/// ```ts
/// session.post(events.home.product({ id: 42 }));
/// const screen = screenOf(state.visible);
/// if (screen.kind === "product") draw(screen.params.id);
/// ```
struct TypeScriptFile {
    let app: DescribedApp
    /// Says what wrote the file.
    let head: String

    var text: String {
        let parts: [[String]] = [
            ["// \(head)"],
            [#"import type { NavigationEvent, Screen as AnyScreen } from "coordinator-client";"#],
            [
                "export const app = \(Self.literal(app.name));",
                "/** The version of the app that this file describes. */", "export const version = \(app.version);",
            ],
            events,
            ids("tabs", app.tabs, "The ids of tabs."),
            ids("buttons", app.buttons, "The ids of alerts' buttons."),
            ids("roles", app.roleNames, "The names of devices' roles."),
            screens, reading, contents, readingOfContents,
        ]
        return [String].blocks(parts).joined(separator: "\n") + "\n"
    }

    private var events: [String] {
        var lines = ["/** The events, by the coordinator whose screens send them. */", "export const events = {"]
        for coordinator in app.coordinators where !coordinator.events.isEmpty {
            lines.append("    \(Self.name(coordinator.name)): {")
            for event in coordinator.events {
                let type = Self.literal(event.type)
                let isOptional =
                    event.payload?.isOptional == true || event.payload?.members?.contains { $0.isRequired } == false
                lines.append("        /** \(event.comment) */")
                let function =
                    if let payload = event.payload {
                        "(payload\(isOptional ? "?" : ""): \(Self.type(payload, isSent: true))): NavigationEvent =>"
                            + " ({ type: \(type), payload }),"
                    } else {
                        "(): NavigationEvent => ({ type: \(type) }),"
                    }
                lines.append("        \(Self.name(event.type)): \(function)")
            }
            lines.append("    },")
        }
        return lines + ["};"]
    }

    private func ids(_ name: String, _ ids: [(id: String, title: String?)], _ comment: String) -> [String] {
        guard !ids.isEmpty else { return [] }
        var lines = ["/** \(comment) */", "export const \(name) = {"]
        for (id, title) in ids {
            if let title { lines.append("    /** \(title.commented) */") }
            lines.append("    \(Self.name(id)): \(Self.literal(id)),")
        }
        return lines + ["} as const;"]
    }

    /// The value of `kind` for a screen.
    private static func kind(of screen: DescribedApp.Screen) -> String {
        literal(screen.name == "unknown" ? "unknown_" : screen.name)
    }

    private var screens: [String] {
        let alternatives = (app.screens ?? []).map { screen in
            let members = screen.members
            let params = members.isEmpty ? "" : " readonly params: \(Self.type(.record(members), isSent: false));"
            return "    | { readonly kind: \(Self.kind(of: screen));\(params) readonly screen: AnyScreen }"
        }
        return [
            "/** A screen. It is `unknown` if this file does not have it, or if its parameters are others. */",
            "export type Screen =",
        ] + alternatives + [#"    | { readonly kind: "unknown"; readonly screen: AnyScreen };"#]
    }

    private var reading: [String] {
        var lines = [
            "export function screenOf(screen: AnyScreen): Screen {",
            "    const params: any = screen.params ?? {};",
            "    switch (screen.name) {",
        ]
        for screen in app.screens ?? [] {
            lines.append("        case \(Self.literal(screen.name)):")
            let members = screen.members
            let conditions = members.filter(\.isRequired).map {
                Self.check("params[\(Self.literal($0.name))]", $0.type)
            }
            let result = "return { kind: \(Self.kind(of: screen)),\(members.isEmpty ? "" : " params,") screen };"
            if conditions.isEmpty {
                lines.append("            \(result)")
            } else {
                lines.append("            if (\(conditions.joined(separator: " && "))) \(result)")
                lines.append("            break;")
            }
        }
        return lines + ["    }", #"    return { kind: "unknown", screen };"#, "}"]
    }

    private var contents: [String] {
        guard !app.contents.isEmpty else { return [] }
        let members = app.contents.map { screen, members in
            "    readonly \(Self.name(screen)): \(Self.type(.record(members), isSent: false));"
        }
        let comment = "/** What screens show beside their parameters, by the screen's name. */"
        return [comment, "export interface Contents {"] + members + ["}"]
    }

    private var readingOfContents: [String] {
        guard !app.contents.isEmpty else { return [] }
        let cases = app.contents.flatMap { screen, members in
            let required = members.filter(\.isRequired).map {
                Self.check("content[\(Self.literal($0.name))]", $0.type)
            }
            let fits = (["isObject"] + required).joined(separator: " && ")
            return ["        case \(Self.literal(screen)):", "            return \(fits) ? content : undefined;"]
        }
        return [
            "/** The content of a screen of that name; undefined if it is not as this file has it. */",
            "export function contentOf<Name extends keyof Contents>(",
            "    name: Name, content: any): Contents[Name] | undefined {",
            #"    const isObject = typeof content === "object" && content !== null;"#, "    switch (name) {",
        ] + cases + ["    }", "    return undefined;", "}"]
    }

    /// - Parameter isSent: whether the client makes the value. In one that it gets, there may be choices that are newer
    ///   than the file.
    private static func type(_ type: ValueType, isSent: Bool) -> String {
        switch type {
        case .boolean: return "boolean"
        case .integer, .number: return "number"
        case .string: return "string"
        case .anything: return "unknown"
        case .choice(let texts):
            let choices = texts.map { literal($0) } + (isSent ? [] : ["(string & {})"])
            return choices.joined(separator: " | ")
        case .list(let element): return "Array<\(self.type(element, isSent: isSent))>"
        case .map(let value): return "Record<string, \(self.type(value, isSent: isSent))>"
        case .optional(let type): return "\(self.type(type, isSent: isSent)) | null"
        case .record(let members):
            let texts = members.map { member in
                let value = self.type(member.type, isSent: isSent)
                return
                    "\(name(member.name))\(member.isRequired ? "" : "?"): \(value)\(member.isRequired ? "" : " | null")"
            }
            return "{ \(texts.joined(separator: "; ")) }"
        }
    }

    private static func check(_ value: String, _ type: ValueType) -> String {
        switch type {
        case .boolean: #"typeof \#(value) === "boolean""#
        case .integer, .number: #"typeof \#(value) === "number""#
        case .string, .choice: #"typeof \#(value) === "string""#
        case .list: "Array.isArray(\(value))"
        case .map, .record: #"typeof \#(value) === "object" && \#(value) !== null"#
        case .optional, .anything: "\(value) !== undefined"
        }
    }

    /// A property's name, in quotation marks where it is no identifier.
    private static func name(_ name: String) -> String {
        var plain = Identifiers(form: .unchanged)
        return plain.identifier(for: name) == name ? name : literal(name)
    }

    private static func literal(_ text: String) -> String { text.literal { "\\u\($0)" } }
}
