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

    /// The key without its quotes (RFC 8941, section 3.3.3); a bare key has neither quotes nor spaces.
    private static func text(of field: String) -> String? {
        guard field.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else { return nil }
        guard field.first == "\"" else { return field.contains { " \",;\\".contains($0) } ? nil : field }
        guard field.count >= 2, field.last == "\"" else { return nil }
        var text = ""
        var isEscaped = false
        for character in field.dropFirst().dropLast() {
            if isEscaped {
                guard character == "\"" || character == "\\" else { return nil }
                text.append(character)
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else if character == "\"" {
                return nil
            } else {
                text.append(character)
            }
        }
        return isEscaped ? nil : text
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
