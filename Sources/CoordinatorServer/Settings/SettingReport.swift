internal import ByteText
internal import JSONCoding

extension SettingValue {
    /// The value for people; secrets are hidden.
    var shown: String {
        if isSecretItself { return "(hidden)" }
        if texts.isEmpty { return "-" }
        return texts.map { row.form.mayHoldSecret ? $0.hidingPassword : $0 }.joined(separator: ", ").printable
    }

    /// Where it comes from, for people; what a default depends on.
    var shownOrigin: String {
        if case .described(let text) = row.standard, origin == .standard { return "\(origin.layer): \(text)" }
        return origin.source.map { "\(origin.layer) \($0)".printable } ?? origin.layer
    }

    /// The value as a file has it; `null` if there is none, or a secret, or one that depends on the machine.
    var jsonValue: JSON {
        if isSecretItself { return .null }
        if texts.isEmpty, row.kind != .list { return .null }
        return row.json(texts.map { row.form.mayHoldSecret ? $0.hidingPassword : $0 })
    }
}

extension SettingResolution {
    /// A line for each setting: name, value, origin.
    var table: String {
        let rows = [("SETTING", "VALUE", "ORIGIN")] + values.map { ($0.row.key, $0.shown, $0.shownOrigin) }
        // One long value does not widen the column of all.
        let names = rows.map(\.0.count).max() ?? 0
        let widths = min(rows.map(\.1.count).max() ?? 0, 28)
        return rows.map { "\($0.0.padded(to: names))  \($0.1.padded(to: widths))  \($0.2)" }.joined(separator: "\n")
    }

    /// Each setting with its value, its layer and what that is called.
    var json: String {
        let settings = values.map { value in
            var object: JSONObject = [
                "name": .string(value.row.key), "value": value.jsonValue, "origin": .string(value.origin.layer),
            ]
            if let source = value.origin.source { object["source"] = .string(source) }
            if value.isSecretItself { object["hidden"] = true }
            return JSON.object(object)
        }
        return JSON.object(["settings": .array(settings)]).description.printable
    }
}

extension String {
    fileprivate func padded(to width: Int) -> String {
        self + String(repeating: " ", count: Swift.max(0, width - count))
    }

    /// A URI without its password: that before the host, and those among the parameters.
    var hidingPassword: String {
        guard let start = utf8.firstRange(of: "://".utf8)?.upperBound else { return self }
        var text = self
        // As libpq reads it: up to the slash, so a password may have a question mark in it.
        let authority = utf8[start...].prefix { $0 != UInt8(ascii: "/") }
        if let (names, host) = Substring(authority).cut(atLast: "@"), let (user, _) = names.cut(at: ":") {
            text = "\(self[..<start])\(user):***@\(host)\(self[authority.endIndex...])"
        }
        guard let (address, query) = text.cut(at: "?") else { return text }
        let parameters = query.parts(at: "&").map { parameter in
            let name = parameter.parts(at: "=")[0]
            return name.lowercased().utf8.firstRange(of: "password".utf8) == nil ? parameter : "\(name)=***"
        }
        return "\(address)?\(parameters.joined(separator: "&"))"
    }
}
