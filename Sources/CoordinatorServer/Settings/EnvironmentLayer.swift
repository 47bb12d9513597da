internal import ByteText

/// The settings in the environment. An empty variable counts as one that is not set.
enum EnvironmentLayer {
    /// - Parameter faults: receives what is wrong with names; values are not judged.
    static func values(in environment: [String: String], faults: inout [String]) -> [String: SettingValue] {
        var values: [String: SettingValue] = [:]
        let variables = environment.filter { name, value in
            !value.isEmpty && name.begins(with: SettingRow.prefix) && !OtherVariables.isServiceLink(name, value)
        }
        for row in Settings.all {
            let texts = row.variables.compactMap { name in variables[name].map { (name: name, text: $0) } }
            guard let first = texts.first else { continue }
            if texts.count > 1 {
                faults.append(
                    "the environment variables \(texts.map(\.name).joined(separator: " and ")) exclude each other.")
            }
            values[row.name] = SettingValue(
                row: row, origin: .environment(first.name),
                texts: row.kind == .list ? list(first.text) : [first.text],
                isSecretItself: row.kind == .secret && first.name == row.variable)
        }
        let port = Settings.port.row
        if values[port.name] == nil, let text = environment[OtherVariables.port], !text.isEmpty {
            values[port.name] = SettingValue(row: port, origin: .environment(OtherVariables.port), texts: [text])
        }
        let known = Settings.all.flatMap(\.variables)
        for name in variables.keys.sorted() where !known.contains(name) {
            guard !OtherVariables.all.contains(where: { $0.0 == name }) else { continue }
            faults.append(
                "the environment variable \(name): there is no such setting\(known.suggestion(for: name))")
        }
        return values
    }

    /// An empty element stays, and is a fault of the value.
    private static func list(_ text: String) -> [String] {
        text.parts(at: ",").map { String($0.trimmed) }
    }
}
