public import JSONCoding

// Words in the user's language. Titles of screens, alerts and controls are an author's own texts, made in `render` and
// in handlers; `Coordinator.title(of:in:)` and `fields(of:in:)` make those of events and forms. What is left are the
// few words of the server itself, see `Phrase`.

/// What `Navigator`, `NavigationContext`, `ContentContext` and `EffectContext` have in common, so that one function of
/// an app serves them all:
///
/// ```swift
/// extension SessionContext {
///     func say(_ english: String, _ german: String) -> String {
///         language(among: "en", "de") == "de" ? german : english
///     }
/// }
/// ```
///
/// The time is not among it, because a screen is not drawn again when time passes.
public protocol SessionContext: Sendable {
    /// What the client says about itself: its language, its platform, its version.
    var client: ClientInfo { get }
    /// The role of the client's device; `nil` if the app declares no roles.
    var role: DeviceRole? { get }
    /// What the session's coordinators share.
    var shared: SharedValues { get }
    /// Small values kept for the session, also across `relaunch`.
    var defaults: Defaults { get }
}

extension Navigator: SessionContext {}
extension NavigationContext: SessionContext {}
extension ContentContext: SessionContext {}
extension EffectContext: SessionContext {}

extension SessionContext {
    /// The one of an app's languages that fits the client's locale best; the first one if none fits, or the client names
    /// no locale.
    ///
    /// - Parameters:
    ///   - first: as BCP 47 writes it: `en`, `zh-Hant`.
    public func language(among first: String, _ others: String...) -> String {
        client.language(among: [first] + others) ?? first
    }
}

extension ClientInfo {
    /// The one of these languages that fits the locale best; `nil` if none fits, or there is no locale. For the locale
    /// `zh-Hant-TW`, `zh-Hant` fits better than `zh` (RFC 4647, section 3.4).
    public func language(among languages: [String]) -> String? {
        guard let locale else { return nil }
        return LanguageRange(locale).lookUp { tag in languages.first { LanguageRange($0).text == tag } }?.found
    }
}

/// Words of the server itself that users see. An app has those of other languages than English in `App.words`.
public enum Phrase: Sendable, Equatable {
    /// The title of a built-in event: “Back”.
    case event(BuiltInEvent)
    /// The title of `AlertButton.ok`.
    case ok
    /// The title of `AlertButton.cancel`.
    case cancel
    /// What is wrong with a field of a form: “Is missing.” The bound is that of `minLength` or `maximum` and the like.
    case fault(PayloadFault.Code, bound: JSON?)
    /// What a device of that role reads when it posts an event that it may not: “Only your agent may give a discount.” Without
    /// such words it reads those of the problem `event-not-for-role`.
    case notForRole(String)
    /// The `detail` of a problem, by the last part of its `type`: `session-expired`.
    case problem(String)
}

/// An app's words for phrases.
package struct Words: Sendable {
    let translate: @Sendable (Phrase, _ language: String) -> String?

    /// The app's words for a phrase, and their language.
    ///
    /// - Parameter languages: those that the user understands, the best one first. English is always known.
    /// - Returns: `nil` for the server's own words.
    package func text(_ phrase: Phrase, in languages: [String]) -> (text: String, language: String)? {
        for language in languages {
            let range = LanguageRange(language)
            if let (text, tag) = range.lookUp({ translate(phrase, $0) }) { return (text, tag) }
            if range.isEnglish { return nil }
        }
        return nil
    }

    func text(_ phrase: Phrase, for client: ClientInfo) -> String? {
        client.locale.flatMap { text(phrase, in: [$0])?.text }
    }
}

extension Alert {
    /// The alert with the standard buttons in the client's language.
    func translated(by words: Words?, for client: ClientInfo) -> Alert {
        guard let words else { return self }
        var alert = self
        for (index, button) in buttons.enumerated() {
            let phrase: Phrase? = button == .ok ? .ok : button == .cancel ? .cancel : nil
            if let title = phrase.flatMap({ words.text($0, for: client) }) { alert.buttons[index].title = title }
        }
        return alert
    }
}

/// A language that a user understands (RFC 4647, section 2.1).
private struct LanguageRange {
    /// In lower case, with hyphens: `zh-hant-tw`. Empty if it is longer than any tag.
    let text: String

    private static let limit = 64

    /// - Parameter text: also in the form of POSIX, `de_AT`.
    init(_ text: String) {
        let isTag = text.utf8.count <= LanguageRange.limit
        self.text = isTag ? String(text.lowercased().map { $0 == "_" ? "-" : $0 }) : ""
    }

    var isEnglish: Bool { text == "en" || text.hasPrefix("en-") || text == "*" }

    /// What is found for the longest beginning of the range, by whole subtags (section 3.4).
    func lookUp<Found>(_ find: (_ tag: String) -> Found?) -> (found: Found, tag: String)? {
        var subtags = text.split(separator: "-")
        while !subtags.isEmpty {
            let tag = subtags.joined(separator: "-")
            if let found = find(tag) { return (found, tag) }
            subtags.removeLast()
            // A single letter or digit means nothing without what follows it.
            if subtags.last?.count == 1 { subtags.removeLast() }
        }
        return nil
    }
}
