internal import JSONCoding
internal import Sodium

/// A store's secret as a line of an export: `{"secret": "(64 hexadecimal digits)"}`.
///
/// Whoever has it and an `Idempotency-Key` of a creation has the session's token.
public struct StoreSecret: Sendable, Equatable {
    public let bytes: [UInt8]

    /// - Returns: `nil` if a secret has another length.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == KeyedDigest.keySize else { return nil }
        self.bytes = bytes
    }

    /// - Returns: `nil` if the line is not a secret's.
    public init?(parsing line: [UInt8]) {
        guard let json = try? JSON(record: line), let text = json["secret"]?.string, json["session"] == nil,
            text.utf8.count == 2 * KeyedDigest.keySize
        else { return nil }
        var bytes: [UInt8] = []
        for digit in text.utf8 {
            guard let value = StoreSecret.digits.firstIndex(of: digit) else { return nil }
            bytes.append(UInt8(value))
        }
        self.init(stride(from: 0, to: bytes.count, by: 2).map { bytes[$0] << 4 | bytes[$0 + 1] })
    }

    public var encoded: [UInt8] {
        let text = bytes.flatMap { [StoreSecret.digits[Int($0 >> 4)], StoreSecret.digits[Int($0 & 15)]] }
        return Array(#"{"secret":""#.utf8) + text + Array(#""}"#.utf8)
    }

    private static let digits = Array("0123456789abcdef".utf8)
}
