import Foundation

/// Reads `text/event-stream`: messages of lines, with an empty line after each (HTML standard, 9.2).
struct EventStream {
    struct Message {
        var event = ""
        var id: String?
        var data = Data()
        /// After how long to connect again.
        var retry: Duration?
    }

    private var rest = Data()
    private var message = Message()

    /// The messages that are complete with these bytes. A comment, which shows that the server is there, is none.
    mutating func read(_ data: Data) -> [Message] {
        rest += data
        var messages: [Message] = []
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            var line = rest[rest.startIndex..<end]
            rest = Data(rest[(end + 1)...])
            if line.last == UInt8(ascii: "\r") { line = line.dropLast() }
            guard line.isEmpty else {
                read(line: line)
                continue
            }
            messages.append(message)
            message = Message()
        }
        return messages
    }

    private mutating func read(line: Data) {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return }
        var value = line[(colon + 1)...]
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        let text = { String(decoding: value, as: UTF8.self) }
        switch String(decoding: line[..<colon], as: UTF8.self) {
        case "event": message.event = text()
        case "id": message.id = text()
        case "data": message.data += message.data.isEmpty ? Data(value) : Data([UInt8(ascii: "\n")]) + value
        case "retry": message.retry = Int(text()).map { .milliseconds($0) }
        default: break
        }
    }
}
