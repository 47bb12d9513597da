public import FoundationEssentials
internal import Sodium

/// What a user types on a second device, which then gets a token of its own for the session: 40 random bits as 8
/// characters of Crockford's base 32 (https://www.crockford.com/base32.html).
public struct PairingCode: Sendable {
    public let text: String

    static let length = 8
    private static let digits = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

    static func random() -> PairingCode {
        // A byte has 256 values, 8 for each digit.
        PairingCode(valid: Sodium.randomBytes(length).map { digits[Int($0 & 31)] })
    }

    /// A code as somebody has typed it: in either case, with O for 0 and I or L for 1, and with hyphens and
    /// spaces anywhere.
    ///
    /// - Returns: `nil` if it can be no code.
    public init?(typed text: String) {
        var code: [UInt8] = []
        for byte in text.utf8 where byte != UInt8(ascii: "-") && byte != UInt8(ascii: " ") {
            let upper = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) ? byte & ~0x20 : byte
            let digit =
                switch upper {
                case UInt8(ascii: "O"): UInt8(ascii: "0")
                case UInt8(ascii: "I"), UInt8(ascii: "L"): UInt8(ascii: "1")
                default: upper
                }
            guard code.count < PairingCode.length, PairingCode.digits.contains(digit) else { return nil }
            code.append(digit)
        }
        guard code.count == PairingCode.length else { return nil }
        self.init(valid: code)
    }

    private init(valid code: [UInt8]) {
        text = String(decoding: code, as: UTF8.self)
    }

    /// What is kept of it.
    func digest(_ secret: [UInt8]) -> SHA256Digest {
        SHA256Digest(of: KeyedDigest(of: "pairing \(text)", key: secret).bytes)
    }
}

extension PairingCode: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "•••" }
    public var debugDescription: String { "•••" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// A code that was given out, and until when it can be used.
public struct OpenPairing: Sendable {
    public let code: PairingCode
    public let expiresAt: Date
}
