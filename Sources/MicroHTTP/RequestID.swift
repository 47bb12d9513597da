internal import Synchronization

/// Names a request, in its answer and in logs: `X-Request-Id`.
public struct RequestID: Sendable, Equatable {
    public let text: String

    private static let limit = 128
    private static let count = Atomic(0)
    /// Tells this process from others.
    private static let process = String(UInt32.random(in: .min ... .max), radix: 16)

    /// A new one.
    public init() {
        let number = RequestID.count.add(1, ordering: .relaxed).newValue
        self.init(text: "\(RequestID.process)-\(String(number, radix: 16))")
    }

    /// The one that the request came with, from a proxy for instance; a new one where it is none that can stand in a log.
    init(_ field: String?) {
        if let field, (1...RequestID.limit).contains(field.utf8.count), field.utf8.allSatisfy(RequestID.isSane) {
            self.init(text: field)
        } else {
            self.init()
        }
    }

    private init(text: String) {
        self.text = text
    }

    /// What identifiers are made of: hexadecimal digits, base 64, `Root=1-…`, but no space, quote or bracket.
    private static func isSane(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-._~+/=:@".utf8.contains(byte)
        }
    }
}
