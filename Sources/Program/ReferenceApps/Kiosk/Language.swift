internal import Coordinators

extension Kiosk {
    /// The language of a terminal that does not name its own. A phone names the language of its user.
    struct Language: SharedState {
        enum Code: String, Codable { case en, de }

        var code = Code.en

        mutating func toggle() { code = code == .en ? .de : .en }

        /// Says the same in one language or the other.
        func callAsFunction(_ english: String, _ german: String) -> String { code == .en ? english : german }

        fileprivate func spoken(by client: ClientInfo) -> Language {
            client.language.map { Language(code: Code(rawValue: $0) ?? .en) } ?? self
        }
    }
}

extension NavigationContext {
    var language: Kiosk.Language { shared[Kiosk.Language.self].spoken(by: client) }
}

extension Navigator {
    var language: Kiosk.Language { shared[Kiosk.Language.self].spoken(by: client) }
}
