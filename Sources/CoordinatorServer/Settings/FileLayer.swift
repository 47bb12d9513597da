internal import JSONCoding

/// The settings in a file: a JSON object with the settings' names.
enum FileLayer {
    /// - Parameter faults: receives what is wrong with the file, one sentence each.
    static func values(in path: String, faults: inout [String]) throws(SmallFile.Unreadable) -> [String: SettingValue] {
        let bytes = try SmallFile.bytes(of: path)
        let json: JSON
        do throws(JSONSyntaxError) { json = try JSON(parsing: bytes) } catch {
            faults.append("\(path): \(error.sentence(in: bytes))")
            return [:]
        }
        guard let object = json.object else {
            faults.append("\(path): It must be a JSON object, such as {\"port\": 8080}.")
            return [:]
        }
        var values: [String: SettingValue] = [:]
        for member in object.members {
            guard let row = row(named: member.name, path: path, faults: &faults) else { continue }
            guard let texts = row.texts(member.value) else {
                faults.append("\(path): \(member.name): It must be \(row.jsonForm).")
                continue
            }
            let value = SettingValue(row: row, origin: .file(path), texts: texts)
            faults += value.faults
            values[row.name] = value
        }
        return values
    }

    private static func row(named name: String, path: String, faults: inout [String]) -> SettingRow? {
        let rows = Settings.all.filter { $0.name != Settings.config.row.name }
        if let row = rows.first(where: { $0.key == name }) { return row }
        let remark: String
        if name == Settings.config.row.name {
            remark = "a file cannot name another one."
        } else if let secret = rows.first(where: { $0.kind == .secret && $0.name == name }) {
            remark = "a secret does not stand in this file; write \(secret.key), the name of a file that has it."
        } else {
            remark = "there is no such setting\(rows.map(\.key).suggestion(for: name))"
        }
        faults.append("\(path): \(name.printable): \(remark)")
        return nil
    }
}

extension SettingRow {
    /// The value as the command line has it; `nil` if it has the wrong type.
    fileprivate func texts(_ json: JSON) -> [String]? {
        switch (kind, form) {
        case (.list, _):
            guard let elements = json.array else { return nil }
            let texts = elements.compactMap(\.string)
            return texts.count == elements.count ? texts : nil
        case (.flag, _):
            guard case .bool(let value) = json else { return nil }
            return ["\(value)"]
        case (_, .number):
            return json.integer.map { ["\($0)"] }
        case (_, .size):
            return (json.string ?? json.integer.map { "\($0)" }).map { [$0] }
        default:
            return json.string.map { [$0] }
        }
    }

    /// The types that `texts` accepts.
    var jsonForm: String {
        switch (kind, form) {
        case (.list, _): "an array of strings"
        case (.flag, _): "true or false"
        case (_, .number): "a whole number"
        case (_, .size): "a string, or a number of bytes"
        default: "a string"
        }
    }

    /// The other way round, for `config --json`.
    func json(_ texts: [String]) -> JSON {
        switch (kind, form) {
        case (.list, _): .array(texts.map { .string($0) })
        case (.flag, _): .bool(texts == ["true"])
        case (_, .number): texts.first.flatMap { Int($0) }.map { .integer($0) } ?? .null
        default: texts.first.map { .string($0) } ?? .null
        }
    }
}

extension JSONSyntaxError {
    /// What is wrong, and where. It repeats nothing of the file but a name that occurs twice.
    fileprivate func sentence(in bytes: [UInt8]) -> String {
        let before = bytes.prefix(offset)
        let line = before.count { $0 == UInt8(ascii: "\n") } + 1
        let column =
            String(decoding: before.reversed().prefix { $0 != UInt8(ascii: "\n") }.reversed(), as: UTF8.self)
            .count + 1
        let what =
            switch reason {
            case .unexpectedByte: "this is no JSON"
            case .unexpectedEnd: "the file ends too early"
            case .trailingBytes: "something follows the object"
            case .duplicateName: "\(name(in: bytes)) occurs twice"
            case .nestedTooDeep: "it is nested too deep"
            case .invalidUTF8, .loneSurrogate: "this is no UTF-8"
            case .controlCharacter: "a control character must be escaped"
            case .invalidEscape: "there is no such escape"
            case .invalidNumber: "this is no number"
            }
        return "line \(line), column \(column): \(what)."
    }

    /// The text in quotation marks that begins at the fault.
    private func name(in bytes: [UInt8]) -> String {
        let text = bytes.dropFirst(offset + 1).prefix { $0 != UInt8(ascii: "\"") }
        return String(decoding: text.prefix(80), as: UTF8.self).printable
    }
}
