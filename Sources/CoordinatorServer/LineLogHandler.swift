internal import FoundationEssentials
internal import Logging

/// A line for each log entry: time, level, message, then the metadata as `name=value`, in the order of their names.
struct LineLogHandler: LogHandler {
    let output: LineOutput
    var logLevel = Logger.Level.info
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?

    init(_ output: LineOutput) {
        self.output = output
    }

    subscript(metadataKey name: String) -> Logger.Metadata.Value? {
        get { metadata[name] }
        set { metadata[name] = newValue }
    }

    func log(event: LogEvent) {
        var all = metadata
        if let provided = metadataProvider?.get() { all.merge(provided) { $1 } }
        if let own = event.metadata { all.merge(own) { $1 } }
        output.write(LineLogHandler.line(event.level, "\(event.message)", all))
    }

    static func line(_ level: Logger.Level, _ message: String, _ metadata: Logger.Metadata = [:]) -> String {
        let fields = metadata.sorted { $0.key < $1.key }.map { " \($0.key)=\(quoted("\($0.value)"))" }
        let time = Date().formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        return "\(time) \(level): \(message)\(fields.joined())".printable
    }

    private static func quoted(_ value: String) -> String {
        guard value.isEmpty || value.contains(where: { $0 == " " || $0 == "\"" || $0 == "=" }) else { return value }
        return "\"\(value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
    }
}
