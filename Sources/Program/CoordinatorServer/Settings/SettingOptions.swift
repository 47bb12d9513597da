public import ArgumentParser
internal import FoundationEssentials
internal import Glibc
internal import JSONCoding
internal import Synchronization

/// Settings that belong together. Its stored properties are the settings, or groups of them, in the order of the help.
protocol SettingGroup: SettingPart {
    init()
    /// A heading in the help, in `docs/settings.md` and in the manual page. Several groups may have the same heading; a
    /// group without one consists of groups that have headings.
    static var title: String { get }
    /// Conflicts between its settings, or with others, one sentence each.
    func conflicts(in settings: SettingResolution) -> [String]
}

extension SettingGroup {
    static var title: String { "" }
    func conflicts(in settings: SettingResolution) -> [String] { [] }

    var parts: [any SettingPart] {
        if let parts = knownParts.withLock({ $0[ObjectIdentifier(Self.self)] }) { return parts }
        let parts = Mirror(reflecting: self).children.compactMap { $0.value as? any SettingPart }
        knownParts.withLock { $0[ObjectIdentifier(Self.self)] = parts }
        return parts
    }
    /// All settings, those of nested groups included.
    var settings: [any SettingPart] { parts.flatMap { ($0 as? any SettingGroup)?.settings ?? [$0] } }
    var rows: [SettingRow] { parts.flatMap(\.rows) }
}

/// The parts of groups, by type. Kept because the library asks for them again and again.
private let knownParts = Mutex<[ObjectIdentifier: [any SettingPart]]>([:])

/// The settings of a command: their flags, completed from the environment, a file and the defaults.
///
/// ```swift
/// @OptionGroup var settings: SettingOptions<Settings>
/// … settings.address.port
/// ```
///
/// ArgumentParser finds the options of a type in its mirror, so they need not be declared: here they are made from the
/// table. It only splits the command line; the values are checked together with those of the other layers.
@dynamicMemberLookup
struct SettingOptions<Group: SettingGroup>: ParsableArguments, CustomReflectable {
    /// The values on the command line, by the settings' names.
    private(set) var flags: [String: SettingValue] = [:]
    /// Contains all settings once the command line has been parsed.
    private var outcome = Result<SettingResolution, SettingFailure>.success(SettingResolution(values: []))

    init() {}

    init(from decoder: any Decoder) throws {
        let flags = try Group().parts.values(from: decoder)
        self.flags = flags
        outcome = Result { () throws(SettingFailure) in
            try SettingResolution(of: Group().rows, flags: flags, environment: ProcessInfo.processInfo.environment)
        }
    }

    var customMirror: Mirror { Mirror(self, children: Group().parts.options) }

    /// The library calls this before it looks for `--help`, which must work even if the environment is wrong.
    func validate() throws {
        guard case .failure(let failure) = outcome else { return }
        let questions = ["--help", "-h", "-help", "--version", "--help-hidden"]
        guard !CommandLine.arguments.contains(where: questions.contains) else { throw ExitCode(failure.code) }
        // Exits here: for a thrown exit code, the library would make the text of the help first.
        Glibc.exit(ExitCode.cannotUse(failure).rawValue)
    }

    var resolution: SettingResolution { (try? outcome.get()) ?? SettingResolution(values: []) }

    subscript<Member>(dynamicMember path: KeyPath<SettingValues<Group>, Member>) -> Member {
        SettingValues(resolution: resolution)[keyPath: path]
    }
}

/// The values of a group of settings.
@dynamicMemberLookup
struct SettingValues<Group: SettingGroup> {
    let resolution: SettingResolution

    subscript<Value>(dynamicMember path: KeyPath<Group, Setting<Value>>) -> Value {
        resolution.value(of: Group()[keyPath: path])
    }

    subscript<Part: SettingGroup>(dynamicMember path: KeyPath<Group, Part>) -> SettingValues<Part> {
        SettingValues<Part>(resolution: resolution)
    }
}

/// The values of a group on the command line. Its nested groups are not groups of options: in a debug build the library
/// checks a group of options several times each time that it checks the group around it.
struct SettingFlags<Group: SettingGroup>: ParsableArguments, CustomReflectable {
    private(set) var values: [String: SettingValue] = [:]

    init() {}
    init(from decoder: any Decoder) throws { values = try Group().settings.values(from: decoder) }

    var customMirror: Mirror { Mirror(self, children: Group().settings.options) }
}

extension [any SettingPart] {
    /// The options as properties. The name of a property wrapper's storage begins with an underscore.
    fileprivate var options: [Mirror.Child] { map { (label: "_\($0.key.stringValue)", value: $0.option) } }

    fileprivate func values(from decoder: any Decoder) throws -> [String: SettingValue] {
        let container = try decoder.container(keyedBy: TextKey.self)
        let values = try flatMap { try $0.values(in: container) }
        return Dictionary(values.map { ($0.row.name, $0) }) { _, last in last }
    }
}

/// A setting, or a group of them.
protocol SettingPart: Sendable {
    var rows: [SettingRow] { get }
    /// Its name in the library that parses the command line.
    var key: TextKey { get }
    /// The property wrapper that declares it to that library.
    var option: Any { get }
    /// Its values on the command line.
    func values(in container: KeyedDecodingContainer<TextKey>) throws -> [SettingValue]
}

extension SettingGroup {
    var key: TextKey { TextKey(stringValue: "\(Self.self)") }
    var option: Any { OptionGroup<SettingFlags<Self>>(title: Self.title) }

    func values(in container: KeyedDecodingContainer<TextKey>) throws -> [SettingValue] {
        Array(try container.decode(OptionGroup<SettingFlags<Self>>.self, forKey: key).wrappedValue.values.values)
    }
}

extension Setting {
    var key: TextKey { TextKey(stringValue: row.key) }

    var option: Any {
        let standard = row.kind == .flag ? "--no-\(row.name)" : row.defaultText
        let remarks = [row.bounds, standard.map { "default: \($0)" }].compactMap(\.self).joined(separator: "; ")
        let help = ArgumentHelp(row.help + (remarks.isEmpty ? "" : " (\(remarks))"), valueName: row.form.word)
        let name = NameSpecification.customLong(row.key)
        return switch row.kind {
        case .flag: Flag<Bool?>(name: name, inversion: .prefixedNo, help: help)
        case .list: Option<[String]>(wrappedValue: [], name: name, help: help)
        default: Option<String?>(name: name, help: help)
        }
    }

    func values(in container: KeyedDecodingContainer<TextKey>) throws -> [SettingValue] {
        var flag = row.flag
        let texts: [String]
        switch row.kind {
        case .flag:
            let isOn = try container.decode(Flag<Bool?>.self, forKey: key).wrappedValue
            texts = isOn.map { ["\($0)"] } ?? []
            if isOn == false { flag = "--no-\(row.name)" }
        case .list: texts = try container.decode(Option<[String]>.self, forKey: key).wrappedValue
        default: texts = try container.decode(Option<String?>.self, forKey: key).wrappedValue.map { [$0] } ?? []
        }
        return texts.isEmpty ? [] : [SettingValue(row: row, layer: .flag, source: flag, texts: texts)]
    }
}

/// `--data-directory`, for a command of a program's own. What the command line leaves out comes from the environment, a
/// file or the default, as for `serve`.
public struct DataDirectoryOption: ParsableArguments {
    @OptionGroup private var settings: SettingOptions<Settings.AppData>

    /// The directory for the apps' own data.
    public var path: String { settings.directory }

    public init() {}
}
