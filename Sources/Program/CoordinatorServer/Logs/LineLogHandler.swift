internal import ByteText
internal import Dispatch
internal import FoundationEssentials
internal import Glibc
internal import JSONCoding
internal import Logging
internal import Synchronization

/// Writes a line for each log entry, as `format` says.
struct LineLogHandler: LogHandler {
    enum Format: String, CaseIterable, Sendable {
        /// Time, level, message, then the metadata as `name=value`, in the order of their names.
        case text
        /// An object with `time`, `level`, `logger`, `message`, and the metadata as further members.
        case json
    }

    /// Which part of the program logs.
    let label: String
    let output: LineOutput
    let format: Format
    var logLevel = Logger.Level.info
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?

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
        let time = Date().timestampWithMilliseconds
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
        guard value.isEmpty || [" ", "\"", "=", "\\"].contains(where: { value.has($0) }) else { return value }
        let escaped = value.substituting("\\", with: "\\\\").substituting("\"", with: "\\\"")
        return "\"\(escaped)\""
    }
}

extension Logger.MetadataValue {
    /// Integers, floating-point numbers and Booleans that are logged as `stringConvertible` stay such in JSON; all else
    /// becomes a string, an array or an object.
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

/// Writes lines to a descriptor that may block or fail. Callers never wait: lines wait in memory, up to a limit. Lines
/// beyond the limit, and lines that cannot be written, are dropped; a later line says how many.
final class LineOutput: Sendable {
    static let standardOutput = LineOutput(STDOUT_FILENO)
    static let standardError = LineOutput(STDERR_FILENO)

    private struct Backlog {
        var bytes: [UInt8] = []
        /// Dropped lines that no line has reported yet.
        var dropped = 0
        /// Dropped lines since the start of the process.
        var droppedInAll = 0
        var format = LineLogHandler.Format.text
        /// Whether the last line was written only in part.
        var isTorn = false
        /// Whether the writer runs or is about to.
        var hasWriter = false

        mutating func drop(_ lines: Int) {
            dropped += lines
            droppedInAll += lines
        }
    }

    /// Bytes that may wait; as many more may be in the middle of being written.
    private static let limit = 1 << 20

    private let descriptor: CInt
    /// Serial, so libdispatch runs it on a thread outside its pools, which may block until the reader reads.
    private let queue = DispatchQueue(label: "coordinatord.output")
    private let backlog = Mutex(Backlog())

    init(_ descriptor: CInt) { self.descriptor = descriptor }

    /// Sets the format of the line that says how many lines were dropped.
    func setFormat(_ format: LineLogHandler.Format) { backlog.withLock { $0.format = format } }

    /// Lines that were dropped since the start of the process.
    var dropped: Int { backlog.withLock(\.droppedInAll) }

    /// - Parameter line: without its line end.
    func write(_ line: String) {
        let isFirst = backlog.withLock { backlog in
            if backlog.bytes.count + line.utf8.count < LineOutput.limit {
                backlog.bytes += line.utf8
                backlog.bytes.append(UInt8(ascii: "\n"))
            } else {
                backlog.drop(1)
            }
            defer { backlog.hasWriter = true }
            return !backlog.hasWriter
        }
        // Not under the lock: it wakes a thread.
        if isFirst { queue.async { self.serve() } }
    }

    /// Blocks until all earlier lines are written, or the time is up. For the end of a process.
    func flush(milliseconds: Int) {
        let isWritten = DispatchSemaphore(value: 0)
        queue.async { isWritten.signal() }
        _ = isWritten.wait(timeout: .now() + .milliseconds(milliseconds))
    }

    private func serve() {
        while true {
            let (bytes, dropped, format) = backlog.withLock { backlog in
                backlog.hasWriter = !backlog.bytes.isEmpty
                defer { if backlog.hasWriter { (backlog.bytes, backlog.dropped) = ([], 0) } }
                return (backlog.bytes, backlog.dropped, backlog.format)
            }
            guard !bytes.isEmpty else { return }
            let lost = writeLines(bytes)
            var unreported = dropped
            if lost == 0, dropped > 0 {
                let message = "\(dropped) messages were dropped: the log could not be written"
                let notice = LineLogHandler.line(.warning, message, by: "server", format)
                if writeLines(Array("\(notice)\n".utf8)) == 0 { unreported = 0 }
            }
            guard lost + unreported > 0 else { continue }
            backlog.withLock { backlog in
                backlog.drop(lost)
                backlog.dropped += unreported
            }
        }
    }

    /// Blocks until the reader has accepted the lines.
    ///
    /// - Returns: how many lines were not written, or only in part.
    private func writeLines(_ bytes: [UInt8]) -> Int {
        let lineEnd = UInt8(ascii: "\n")
        // Ends a line that was written only in part.
        if backlog.withLock(\.isTorn), !write([lineEnd]).isEmpty { return bytes.count { $0 == lineEnd } }
        let rest = write(bytes[...])
        backlog.withLock { $0.isTorn = rest.startIndex > 0 && bytes[rest.startIndex - 1] != lineEnd }
        return rest.count { $0 == lineEnd }
    }

    /// - Returns: what could not be written.
    private func write(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                // Another process that shares the descriptor has made it non-blocking.
                var ready = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&ready, 1, -1)
            } else if errno != EINTR {
                break
            }
        }
        return rest
    }
}
