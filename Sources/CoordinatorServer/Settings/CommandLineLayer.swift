internal import ByteText

/// The settings among the arguments of a command. The parser of the command line reads them, too; here they are needed
/// before, because what they leave out comes from the other layers.
enum CommandLineLayer {
    static func values(in arguments: some Sequence<String>) -> [String: SettingValue] {
        var values: [String: SettingValue] = [:]
        var rest = Array(arguments.prefix { $0 != "--" })[...]
        while let argument = rest.popFirst() {
            let parts = argument.parts(at: "=", limit: 2).map(String.init)
            guard let (row, isNegated) = row(of: parts[0]) else { continue }
            var texts = parts.count > 1 ? [parts[1]] : []
            if row.kind == .flag {
                texts = [isNegated ? "false" : "true"]
            } else if texts.isEmpty, let next = rest.first, !next.begins(with: "-") {
                texts = [next]
                rest.removeFirst()
            }
            let before = row.kind == .list ? values[row.name]?.texts ?? [] : []
            values[row.name] = SettingValue(row: row, origin: .flag(parts[0]), texts: before + texts)
        }
        return values
    }

    private static func row(of flag: String) -> (row: SettingRow, isNegated: Bool)? {
        for row in Settings.all {
            if row.flag == flag { return (row, false) }
            if row.kind == .flag, "--no-\(row.name)" == flag { return (row, true) }
        }
        return nil
    }
}
