internal import ArgumentParser
internal import Coordinators
internal import CoordinatorsTesting
internal import Glibc
internal import JSONCoding

/// `describe`: writes what clients need to know of an app, as a file of their language, and says what a change of the app
/// breaks.
struct DescribeCommand<Server: NavigationServer>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "describe", abstract: "Writes an app's events and screens as types of a client's language.",
            discussion: """
                Prints one file: the events as functions, the screens as a sum type, the ids of tabs and of alerts' \
                buttons. Equal apps give equal files. Beside what the app declares, it has what is found by exploring \
                it, as graph does: with the app's development dependencies, and not touching any data of a server.

                With --from, it writes the same of a description that was saved, without the app.

                With --compare, it prints instead what has changed since a description was written with --as json, or \
                read from GET /v1/apps/{app}, and exits 1 if that breaks clients.
                """)
    }

    @Argument(help: "The name of the app; the program's only one may be left out.")
    var app: String?

    @Option(name: .customLong("as"), help: "What to write.")
    var form = DescriptionForm.json

    @Option(help: "A file with a description in JSON, which is used instead of the app.")
    var from: String?

    @Option(help: "A file with an older description in JSON: prints what has changed for clients.")
    var compare: String?

    @Option(help: "How many states are explored.")
    var limit = usualLimit

    @OptionGroup(visibility: .hidden)
    var exploration: ExplorationOptions

    @OptionGroup(title: "Options of the apps")
    var own: Server.Options

    static var usualLimit: Int { 500 }

    func validate() throws {
        guard limit > 0 else { throw ValidationError("--limit takes a number from 1.") }
    }

    func run() async throws {
        let before = try compare.map { try DescribedApp(try JSON(describing: $0, of: "--compare"), in: $0) }
        let json = try await description()
        let now = try DescribedApp(json, in: from ?? "the description")
        guard now.name == app ?? now.name else { throw ValidationError("The description is that of “\(now.name)”.") }
        guard let before else {
            let command = "\(Server.name) describe \(now.name) --as \(form.rawValue)"
            let head = "App “\(now.name)”, version \(now.version). Written by `\(command)`.".printable
            return print(form.text(of: now, json, head: head), terminator: "")
        }
        let comparison = AppComparison(from: before, to: now)
        for line in comparison.lines { print(line.printable) }
        if !comparison.breaks.isEmpty { throw ExitCode(1) }
        if comparison.lines.isEmpty { print("nothing has changed for clients") }
    }

    private func description() async throws -> JSON {
        if let from { return try JSON(describing: from, of: "--from") }
        let (_, description) = try await Server.explore(app, own, limit: limit, exploration.eventLimit, "describe")
        for warning in description.warnings { StandardError.print("Warning: \(warning).".printable) }
        return try description.json
    }
}

/// What `describe` writes.
enum DescriptionForm: String, CaseIterable, ExpressibleByArgument {
    case json, swift, typescript, kotlin, openapi

    /// - Parameter head: says what wrote the file.
    fileprivate func text(of app: DescribedApp, _ json: JSON, head: String) -> String {
        switch self {
        case .json: json.indentedText + "\n"
        case .swift: SwiftFile(app: app, head: head).text
        case .typescript: TypeScriptFile(app: app, head: head).text
        case .kotlin: KotlinFile(app: app, head: head).text
        case .openapi: OpenAPIFile(app: app, head: head).text
        }
    }
}

extension AppDescription {
    var json: JSON {
        get throws { try JSON(parsing: JSONWriter.bytes(capacity: 16 << 10, write)) }
    }
}

extension DescribedApp {
    /// - Parameter place: where the description is, for the message.
    /// - Throws: an exit code, after printing what is wrong with it.
    init(_ json: JSON, in place: String) throws {
        do throws(JSONDecodingError) {
            self = try json.decode(as: DescribedApp.self)
        } catch {
            let member = error.path.isEmpty ? "" : " “\(error.path.joined(separator: "/"))”"
            throw ExitCode.cannotStart(EX_DATAERR, "\(place) is no description of an app:\(member) \(error.reason)")
        }
    }
}

extension JSON {
    /// Reads a file with a description.
    ///
    /// - Parameter option: the option that names the file.
    /// - Throws: an exit code, after printing what is wrong with the file.
    init(describing file: String, of option: String) throws {
        let bytes: [UInt8]
        do throws(UnusableFile) {
            bytes = try SmallFile.bytes(of: file, upTo: JSON.descriptionLimit)
        } catch {
            throw ExitCode.cannotStart(EX_NOINPUT, "\(option): \(error.reason)")
        }
        do throws(JSONSyntaxError) {
            self = try JSON(parsing: bytes)
        } catch {
            throw ExitCode.cannotStart(EX_DATAERR, "\(file) \(error.reason)")
        }
    }

    /// In bytes. A large app's description has some hundred thousand.
    private static var descriptionLimit: Int { 4 << 20 }
}

extension JSON {
    /// The value as text over several lines, so that a difference of two such texts shows what has changed.
    var indentedText: String { lines.joined(separator: "\n") }

    private var lines: [String] {
        let isShort = description.utf8.count <= 80
        switch self {
        case .object(let object) where !isShort:
            return ["{"]
                + JSON.list(object.members.map { JSON.with(JSON.string($0.name).description + ": ", $0.value.lines) })
                + ["}"]
        case .array(let values) where !isShort: return ["["] + JSON.list(values.map(\.lines)) + ["]"]
        default: return [description]
        }
    }

    private static func with(_ name: String, _ lines: [String]) -> [String] {
        [name + (lines.first ?? "")] + lines.dropFirst()
    }

    /// The lines of the elements, with commas between these.
    private static func list(_ elements: [[String]]) -> [String] {
        elements.enumerated().flatMap { index, lines in
            let isLast = index == elements.count - 1
            return (lines.dropLast() + [(lines.last ?? "") + (isLast ? "" : ",")]).map { "  " + $0 }
        }
    }
}
