public import JSONCoding

/// The events that every session accepts. Their names are reserved: no coordinator's event may have one of them.
public enum BuiltInEvent: String, CaseIterable, Sendable {
    /// Carries out the state's `backPlan`.
    case back
    /// Goes back to a lower screen of a visible stack, by `{"key": key}` or `{"name": name}`.
    case backTo
    /// Pops a stack to its first screen: the innermost visible stack that has more than one screen.
    case backToRoot
    /// Selects a tab by `{"tab": id}` or `{"index": position}`. A tab that is already selected is popped to its first
    /// screen.
    case selectTab
    /// Dismisses the top presented flow, or the flow of `{"key": key}` and all flows above it.
    case dismiss
    /// Answers the alert by `{"button": id, "alert": key}`. Without `alert` it answers whichever alert is shown, which
    /// may not be the one that the user saw.
    case answer
    /// Opens a link by `{"path": path}`. While an alert is shown, the link waits for the answer.
    case open
    /// Starts the tree again from the root; `defaults` are kept.
    case relaunch
    /// Replaces what the client says about itself, see `ClientInfo`.
    case describeClient

    /// In a history: a transition that adapted a session to a new declaration of its app. It cannot be posted.
    static let migration = "migrate"
    /// In a history: the operator returned the session to an earlier version. It cannot be posted.
    package static let restoration = "restore"

    /// In a history: another device was paired with the session and got a token of its own. It cannot be posted.
    package static let tokenAddition = "addToken"
    /// In a history: one of the session's tokens was revoked. It cannot be posted.
    package static let tokenRevocation = "revokeToken"

    /// In a history: a client watched the session, which extended the session's life. It cannot be posted.
    package static let watching = "watch"

    static let names = Set(
        allCases.map(\.rawValue) + [migration, restoration, tokenAddition, tokenRevocation, watching])

    /// The words of the event's name: “Back to root”.
    public var title: String { rawValue.sentence }

    /// An example of the payload; `nil` for an event without one.
    public var payload: JSON? {
        switch self {
        case .back, .backToRoot, .relaunch: nil
        case .backTo: ["name": "list"]
        case .selectTab: ["index": 0]
        case .dismiss: ["key": "p1"]
        case .answer: ["button": "ok", "alert": "a1"]
        case .open: ["path": "/products/42"]
        case .describeClient: ["locale": "en", "platform": "web", "version": "1.0"]
        }
    }

    /// The JSON Schema of the payload (draft 2020-12); `nil` for an event without one.
    public var schema: JSON? {
        switch self {
        case .back, .backToRoot, .relaunch: nil
        case .backTo: BuiltInEvent.schema(oneOf: ["key": "string"], ["name": "string"])
        case .selectTab: BuiltInEvent.schema(oneOf: ["tab": "string"], ["index": "integer"])
        case .dismiss: BuiltInEvent.schema(oneOf: ["key": "string"], [:])
        case .answer: BuiltInEvent.schema(of: ["button": "string"], optional: ["alert": "string"])
        case .open: BuiltInEvent.schema(of: ["path": "string"])
        case .describeClient:
            [
                "type": "object",
                "properties": [
                    "locale": ["type": "string"], "platform": ["type": "string"], "version": ["type": "string"],
                ],
            ]
        }
    }

    private static func schema(oneOf forms: JSONObject...) -> JSON {
        ["oneOf": .array(forms.map { schema(of: $0) })]
    }

    /// - Parameters:
    ///   - types: the types of the required members, by name.
    ///   - others: the types of the optional members, by name.
    private static func schema(of types: JSONObject, optional others: JSONObject = [:]) -> JSON {
        let properties = JSONObject((types.members + others.members).map { ($0.name, ["type": $0.value]) })
        return [
            "type": "object", "properties": .object(properties), "required": .array(types.names.map { .string($0) }),
            "additionalProperties": false,
        ]
    }
}

extension String {
    /// A name in camel case or with underscores as separate words in sentence case: “Add to cart” for `addToCart`,
    /// “Button 01 tapped” for `button01Tapped`, “Open URL” for `openURL`.
    var sentence: String {
        let words = words.enumerated().map { index, word in
            if word.count > 1, word.allSatisfy({ $0.isUppercase || $0.isNumber }) { return word }
            return index == 0 ? word.prefix(1).uppercased() + word.dropFirst() : word.lowercased()
        }
        return words.joined(separator: " ")
    }

    private var words: [String] {
        var words: [String] = []
        var word = ""
        let characters = Array(self)
        for (index, character) in characters.enumerated() {
            let next = index + 1 < characters.count ? characters[index + 1] : nil
            if let last = word.last, character.beginsWord(after: last, before: next) {
                words.append(word)
                word = ""
            }
            if character != "_" { word.append(character) }
        }
        if !word.isEmpty { words.append(word) }
        return words
    }
}

extension Character {
    fileprivate func beginsWord(after last: Character, before next: Character?) -> Bool {
        if self == "_" || isNumber != last.isNumber { return true }
        guard isUppercase else { return false }
        // The last capital of several begins the next word: `HTTPServer`.
        return !last.isUppercase || next?.isLowercase == true
    }
}
