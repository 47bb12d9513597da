internal import CSodium

/// Bytes as text that is safe in URLs and headers: Base64url (RFC 4648, section 5) without padding.
public enum Base64URL {
    public static func text(of bytes: [UInt8]) -> String {
        let variant = sodium_base64_VARIANT_URLSAFE_NO_PADDING
        var text = [CChar](repeating: 0, count: sodium_base64_encoded_len(bytes.count, variant))
        return String(cString: sodium_bin2base64(&text, text.count, bytes, bytes.count, variant))
    }
}
