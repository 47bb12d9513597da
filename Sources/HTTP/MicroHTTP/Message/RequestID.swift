internal import Synchronization

/// Identifies a request in its answer and in logs: `X-Request-Id`.
public struct RequestID: Sendable, Equatable {
    private enum Origin: Equatable {
        case made(Int)
        case given(String)
    }

    private let origin: Origin

    private static let limit = 128
    private static let count = Atomic(0)
    /// Distinguishes this process from others.
    private static let process = Int(UInt32.random(in: 1 ... .max)) << 32

    /// A new id.
    public init() {
        origin = .made(RequestID.process | RequestID.count.add(1, ordering: .relaxed).newValue & 0xFFFF_FFFF)
    }

    /// The id that the request came with, from a proxy for instance.
    ///
    /// - Returns: `nil` if the field is not an id that is safe to log.
    init?(_ field: String) {
        guard (1...RequestID.limit).contains(field.utf8.count), field.utf8.allSatisfy(RequestID.isIDCharacter) else {
            return nil
        }
        origin = .given(field)
    }

    public var text: String {
        withCString { String(cString: $0) }
    }

    /// Makes no `String`: every answer has an id, and few ids are needed as a `String`.
    func withCString<Value>(_ body: (UnsafePointer<CChar>) -> Value) -> Value {
        switch origin {
        case .given(let text): text.withCString(body)
        case .made(let number):
            withUnsafeTemporaryAllocation(of: CChar.self, capacity: RequestID.digitCount + 1) { digits in
                for index in 0..<RequestID.digitCount {
                    digits[index] = RequestID.digits[number >> (60 - 4 * index) & 0xF]
                }
                digits[RequestID.digitCount] = 0
                return body(digits.baseAddress!)
            }
        }
    }

    private static let digitCount = 16
    private static let digits = "0123456789abcdef".utf8CString.dropLast().map(\.self)

    /// The characters of usual identifiers, such as hexadecimal digits, base 64 and `Root=1-…`: no space, quote or
    /// bracket.
    private static func isIDCharacter(_ byte: UInt8) -> Bool {
        byte.isASCIIAlphanumeric || "-._~+/=:@".utf8.contains(byte)
    }
}
