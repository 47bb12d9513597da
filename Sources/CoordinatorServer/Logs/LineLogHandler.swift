internal import ByteText
internal import FoundationEssentials
internal import JSONCoding
internal import Logging

/// Writes a line for each log entry, as `format` says.
struct LineLogHandler: LogHandler {
    enum Format: String, CaseIterable, Sendable {
        /// Time, level, message, then the metadata as `name=value`, in the order of their names.
        case text
        /// An object with `time`, `level`, `logger`, `message`, and the metadata as further members.
        case json
    }

    let label: String
    let output: LineOutput
    let format: Format
    var logLevel = Logger.Level.info
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?

    /// - Parameter label: which part of the program logs.
    init(label: String, _ output: LineOutput, _ format: Format = .text) {
        self.label = label
        self.output = output
        self.format = format
    }

    subscript(metadataKey name: String) -> Logger.Metadata.Value? {
        get { metadata[name] }
        set { metadata[name] = newValue }
    }

    func log(event: LogEvent) {
        var all = metadata
        if let provided = metadataProvider?.get() { all.merge(provided) { $1 } }
        if let own = event.metadata { all.merge(own) { $1 } }
        output.write(LineLogHandler.line(event.level, "\(event.message)", all, by: label, format))
    }

    static func line(
        _ level: Logger.Level, _ message: String, _ metadata: Logger.Metadata = [:], by label: String, _ format: Format
    ) -> String {
        let time = Date().formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        let fields = metadata.sorted { $0.key < $1.key }
        switch format {
        case .text:
            let texts = fields.map { " \($0.key)=\(quoted("\($0.value)"))" }
            return "\(time) \(level): \(message)\(texts.joined())".printable
        case .json:
            let own: [(String, JSON)] = [
                ("time", .string(time)), ("level", .string(level.rawValue)), ("logger", .string(label)),
                ("message", .string(message)),
            ]
            let others = fields.filter { field in !own.contains { $0.0 == field.key } }
            return JSON.object(JSONObject(own + others.map { ($0.key, $0.value.json) })).description.printable
        }
    }

    private static func quoted(_ value: String) -> String {
        guard value.isEmpty || value.has(" ") || value.has("\"") || value.has("=") else { return value }
        let escaped = value.substituting("\\", with: "\\\\").substituting("\"", with: "\\\"")
        return "\"\(escaped)\""
    }
}

extension Logger.MetadataValue {
    /// A value of the log's own is a number where it is one; an author's is a text, an array or an object.
    fileprivate var json: JSON {
        switch self {
        case .string(let text): .string(text)
        case .stringConvertible(let value as Int): .integer(value)
        case .stringConvertible(let value as Double): value.isFinite ? .number(value) : .string("\(value)")
        case .stringConvertible(let value as Bool): .bool(value)
        case .stringConvertible(let value): .string(value.description)
        case .array(let values): .array(values.map(\.json))
        case .dictionary(let values): .object(JSONObject(values.map { ($0.key, $0.value.json) }))
        }
    }
}
