/// What a setting is about: a heading in the help, in `docs/settings.md` and in the manual page.
enum SettingTopic: String, CaseIterable, Sendable {
    case address = "Address"
    case connections = "Connections"
    case clients = "Clients"
    case store = "Store"
    case sessions = "Sessions"
    case apps = "Apps"
    case metrics = "Metrics"
    case traces = "Traces"
    case log = "Log"
    case console = "Console"
    case configuration = "Configuration"
}
