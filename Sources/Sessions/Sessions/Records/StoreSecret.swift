internal import JSONCoding
internal import Sodium

/// A store's secret as a line of an export: `{"secret": "(64 hexadecimal digits)"}`.
///
/// Whoever knows it and the `Idempotency-Key` of a creation can derive the session's token.
public struct StoreSecret: Sendable, Equatable {
    public let bytes: [UInt8]

    /// - Returns: `nil` if the number of bytes is not that of a secret.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == KeyedDigest.keySize else { return nil }
        self.bytes = bytes
    }

    /// - Returns: `nil` if the line is not a secret's.
    public init?(parsing line: [UInt8]) {
        guard let json = try? JSON(record: line), let text = json["secret"]?.string, json["session"] == nil,
            let bytes = Hexadecimal.bytes(of: text)
        else { return nil }
        self.init(bytes)
    }

    public var encoded: [UInt8] { Array("{\"secret\":\"\(Hexadecimal.text(of: bytes))\"}".utf8) }
}
