internal import JSONCoding
internal import Sessions

/// A pairing code, for the user to type on the other device.
struct PairingBody: JSONWritable {
    private let pairing: OpenPairing

    init(_ pairing: OpenPairing) {
        self.pairing = pairing
    }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("code", pairing.code.text)
            writer.member("expiresAt", Timestamp.text(of: pairing.expiresAt))
        }
    }
}

/// A session's tokens, as their owner knows them apart.
struct TokensBody: JSONWritable {
    private let tokens: [AccessToken]
    private let own: Int

    /// - Parameter own: the number of the token that asks.
    init(_ tokens: [AccessToken], own: Int) {
        self.tokens = tokens
        self.own = own
    }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.name("tokens")
            writer.array { writer in
                for token in tokens {
                    writer.object { writer in
                        writer.member("number", token.number)
                        writer.member("label", ifAny: token.label)
                        writer.member("createdAt", Timestamp.text(of: token.createdAt))
                        writer.member("lastUsedAt", Timestamp.text(of: token.usedAt))
                        writer.member("firstVersion", token.firstVersion)
                        writer.member("isOwn", ifAny: token.number == own ? true : nil)
                    }
                }
            }
        }
    }
}
