internal import FoundationEssentials

extension SettingRow {
    /// A secret that the environment has itself, not in a file. It never becomes an argument, which an error
    /// could repeat.
    var secretInEnvironment: String? {
        guard kind == .secret, let text = ProcessInfo.processInfo.environment[variable], !text.isEmpty else {
            return nil
        }
        return text
    }
}
