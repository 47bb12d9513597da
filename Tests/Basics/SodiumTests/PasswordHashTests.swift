import Sodium
import Testing

/// One at a time, because a hash takes a core and 64 MiB.
@Suite(.serialized) struct PasswordHashTests {
    static let limits = "$argon2id$v=19$m=65536,t=2,p=1$"

    @Test func `a password matches its own hash and no other`() throws {
        let hash = try PasswordHash(of: "correct horse")

        #expect(try hash.matches("correct horse"))
        for other in ["correct hors", "correct horse ", "Correct horse", "correct horse\u{0}", ""] {
            #expect(try !hash.matches(other))
        }
    }

    @Test(arguments: ["", "비밀번호 🔑", String(repeating: "x", count: 65_536)])
    func `any text can be a password`(password: String) throws {
        let hash = try PasswordHash(of: password)

        #expect(try hash.matches(password))
        #expect(try !hash.matches(password + "x"))
    }

    @Test func `each hash is Argon2id with a salt of its own`() throws {
        let hashes = [try PasswordHash(of: "correct horse"), try PasswordHash(of: "correct horse")]

        #expect(hashes.allSatisfy { $0.encoded.hasPrefix(PasswordHashTests.limits) })
        #expect(hashes[0] != hashes[1])
    }

    @Test func `a hash can be read back from its text`() throws {
        let hash = try PasswordHash(of: "correct horse")

        let read = try #require(PasswordHash(encoded: hash.encoded))

        #expect(read == hash)
        #expect(try read.matches("correct horse"))
    }

    @Test(arguments: [
        "", "correct horse", "$argon2id$", limits, limits + "AAAA", "$argon2i$v=19$m=65536,t=2,p=1$",
        "$2b$12$R9h/cIPz0gi.URNNX3kh2OPST9/PgBkqquzi.Ss7KIUgO2t0jWMUW", String(repeating: "$argon2id$", count: 1000),
        PasswordHash.decoy.encoded + "\n", PasswordHash.decoy.encoded.replacing("argon2id", with: "argon2i"),
    ])
    func `a text that is not an Argon2id hash is refused`(text: String) {
        #expect(PasswordHash(encoded: text) == nil)
    }

    @Test func `the decoy is a hash with the limits of new ones, and no password matches it`() throws {
        let decoy = try #require(PasswordHash(encoded: PasswordHash.decoy.encoded))

        #expect(decoy.encoded.hasPrefix(PasswordHashTests.limits))
        #expect(try decoy.encoded.utf8.count == PasswordHash(of: "x").encoded.utf8.count)
        #expect(try !decoy.matches(""))
        #expect(try !decoy.matches("correct horse"))
    }

    @Test func `a printed or dumped hash does not reveal its text`() throws {
        let hash = try PasswordHash(of: "correct horse")

        var dumped = ""
        dump(hash, to: &dumped)

        for text in ["\(hash)", String(reflecting: hash), dumped] { #expect(!text.contains("argon2id")) }
    }
}
