public import JSONCoding

/// Small values kept for the session, also when `relaunch` starts the tree again.
public struct Defaults: Sendable {
    /// Replaced as a whole, because most events leave it as it is.
    private var content: Content

    private final class Content: Sendable {
        let values: JSONObject
        /// The values as they are saved: JSON text.
        let encoded: [UInt8]

        init(_ values: JSONObject) {
            self.values = values
            var writer = JSONWriter()
            writer.value(values)
            self.encoded = writer.bytes
        }
    }

    public init() {
        self.init([:])
    }

    init(_ values: JSONObject) {
        content = Content(values)
    }

    var encoded: [UInt8] { content.encoded }

    /// The value of that name; `nil` if there is none. Assigning `nil` removes the value.
    public subscript(name: String) -> JSON? {
        get { content.values[name] }
        set {
            var values = content.values
            values[name] = newValue
            content = Content(values)
        }
    }
}

extension Defaults: Equatable {
    public static func == (left: Defaults, right: Defaults) -> Bool {
        left.content === right.content || left.encoded == right.encoded
    }
}
