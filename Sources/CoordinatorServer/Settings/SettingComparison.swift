internal import JSONCoding

/// What another file would change.
struct SettingComparison {
    /// Settings whose value would be another one.
    private let changes: [(before: SettingValue, after: SettingValue)]
    /// What the file says and a layer above it overrides.
    private let overridden: [(value: SettingValue, by: SettingValue)]
    private let file: String

    /// - Parameters:
    ///   - present: the settings as they are.
    ///   - changed: the settings with the file, which has been found good.
    init(from present: SettingResolution, to changed: SettingResolution, file: String) {
        let pairs = zip(present.values, changed.values).filter { $0.0.row.name != Settings.config.row.name }
        changes = pairs.filter { $0.texts != $1.texts }.map { ($0, $1) }
        var faults: [String] = []
        let members = (try? FileLayer.values(in: file, faults: &faults)) ?? [:]
        overridden = pairs.compactMap { _, after in
            guard let value = members[after.row.name], value.origin != after.origin, value.texts != after.texts else {
                return nil
            }
            return (value, after)
        }
        self.file = file
    }

    var text: String {
        var lines = changes.map {
            "\($0.row.key): \($0.shown) (\($0.shownOrigin)) → \($1.shown) (\($1.shownOrigin))"
        }
        if lines.isEmpty { lines = ["\(file.printable) would change nothing."] }
        lines += overridden.map {
            "\($1.row.key): stays \($1.shown) (\($1.shownOrigin)); \($0.shown) in the file has no effect"
        }
        return lines.joined(separator: "\n")
    }

    var json: String {
        func object(_ value: SettingValue) -> JSON {
            var object: JSONObject = ["value": value.jsonValue, "origin": .string(value.origin.layer)]
            if let source = value.origin.source { object["source"] = .string(source) }
            return .object(object)
        }
        return JSON.object([
            "changes": .array(
                changes.map { ["name": .string($0.row.key), "before": object($0), "after": object($1)] }),
            "overridden": .array(
                overridden.map { ["name": .string($1.row.key), "value": $0.jsonValue, "by": object($1)] }),
        ]).description.printable
    }
}
