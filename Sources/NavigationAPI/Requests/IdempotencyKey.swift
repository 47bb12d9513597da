internal import ByteText
internal import MicroHTTP
internal import Sessions

/// The `Idempotency-Key` of a request (draft-ietf-httpapi-idempotency-key-header-07): a string in quotes, or bare.
struct IdempotencyKey {
    static let limit = 255

    let text: String

    /// - Returns: `nil` if there is none.
    init?(_ headers: HTTPHeaders) throws(Problem) {
        let fields = headers.values("Idempotency-Key")
        guard let field = fields.first else { return nil }
        guard fields.count == 1, let text = IdempotencyKey.text(of: field),
            (1...IdempotencyKey.limit).contains(text.utf8.count)
        else {
            throw .invalidRequestHeader(
                "Idempotency-Key", "one string of 1 to \(IdempotencyKey.limit) ASCII characters, in quotes or bare")
        }
        self.text = text
    }

    private static func endsToken(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: " "), UInt8(ascii: "\""), UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "\\"): true
        default: false
        }
    }

    /// The key without its quotes (RFC 8941, section 3.3.3); a bare key has neither quotes nor spaces.
    private static func text(of field: String) -> String? {
        guard field.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else { return nil }
        guard field.utf8.first == UInt8(ascii: "\"") else { return field.utf8.contains(where: endsToken) ? nil : field }
        guard let inside = field.inside("\"", "\"") else { return nil }
        var text: [UInt8] = []
        var isEscaped = false
        for byte in inside.utf8 {
            let isSpecial = byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
            if isEscaped || !isSpecial {
                guard isSpecial || !isEscaped else { return nil }
                text.append(byte)
                isEscaped = false
            } else {
                guard byte == UInt8(ascii: "\\") else { return nil }
                isEscaped = true
            }
        }
        return isEscaped ? nil : String(decoding: text, as: UTF8.self)
    }
}

extension IdempotentRequest {
    /// - Returns: `nil` if the request has no key.
    init?(_ request: HTTPRequest, _ body: RequestBody, leastCharacters: Int = 1) throws(Problem) {
        guard let key = try IdempotencyKey(request.headers) else { return nil }
        guard key.text.utf8.count >= leastCharacters else {
            throw .invalidRequestHeader(
                "Idempotency-Key", "at least \(leastCharacters) random characters where a session is created")
        }
        let includesControls = try request.includesControls()
        self.init(key: key.text, request: body.canonicalBytes) { applied in
            StateBody(applied.state, transition: applied.transition, includesControls: includesControls).bytes
        }
    }
}
