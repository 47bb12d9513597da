import Sodium
import Testing

@Suite struct SHA256DigestTests {
    /// FIPS 180-2, appendix B.1.
    static let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

    @Test func `a digest is written as 64 hexadecimal digits, and read back from them`() {
        #expect(SHA256Digest(of: "abc").hex == SHA256DigestTests.abc)
        #expect(SHA256Digest(hex: SHA256DigestTests.abc) == SHA256Digest(of: "abc"))
        #expect(SHA256Digest(hex: SHA256DigestTests.abc.uppercased()) == SHA256Digest(of: "abc"))
    }

    @Test(arguments: 0..<32)
    func `digests that differ in one byte are not equal`(index: Int) {
        let digest = SHA256Digest(of: "abc")
        var bytes = digest.bytes
        bytes[index] ^= 1
        #expect(SHA256Digest(bytes: bytes) != digest)
    }

    @Test(arguments: [
        "", String(abc.dropLast()), abc + "0", abc + "00", abc.replacing("b", with: "g"), abc.dropLast() + "é",
        " " + abc.dropLast(), abc.dropLast() + "\0",
    ])
    func `a text that is not a digest is refused`(hex: String) {
        #expect(SHA256Digest(hex: hex) == nil)
    }
}
