internal import CMicroHTTPD
internal import Glibc

/// Whether libmicrohttpd has read a request's head exactly as it arrived, so that no proxy in front can have read
/// another request in the same bytes (RFC 9112, section 11.2).
///
/// libmicrohttpd 0.9 drops, merges and cuts what it cannot read. But it parses a head in place, so the pointers that it
/// passes on show this: from the method to the empty line each part must begin where the one before ends, with as many
/// bytes in between as the grammar has there. The library has overwritten these with NUL; only their number can still
/// be checked.
struct HeadCheck {
    /// Where the request begins.
    private let start: UnsafeRawPointer
    /// Where the next header field, or the empty line, must begin; `nil` if the library itself is strict.
    private var next: UnsafeRawPointer?
    private var isSound: Bool
    private let isKnownMethod: Bool
    private let isOld: Bool
    private var hosts = 0
    private var lengths = 0
    private var codings = 0
    private var isChunked = false

    private static let space = 1
    private static let lineEnd = 2

    /// - Parameters:
    ///   - target: the target's place in the head before it was decoded. Its bytes are not read.
    init(method: UnsafePointer<CChar>, target: UnsafeRawBufferPointer, version: UnsafePointer<CChar>) {
        start = UnsafeRawPointer(method)
        let method = UnsafeRawBufferPointer(start: method, count: strlen(method))
        isKnownMethod = HeadCheck.methods.contains { method.elementsEqual($0.utf8) }
        isOld = strcmp(version, "HTTP/1.0") == 0
        isSound =
            method.allSatisfy(HeadCheck.isTokenCharacter) && !target.isEmpty
            && (isOld || strcmp(version, "HTTP/1.1") == 0)
        guard !HTTPLibrary.isStrict else { return }
        let targetPlace = start + method.count + HeadCheck.space
        let versionPlace = targetPlace + target.count + HeadCheck.space
        isSound = isSound && target.baseAddress == targetPlace && UnsafeRawPointer(version) == versionPlace
        next = versionPlace + strlen(version) + HeadCheck.lineEnd
    }

    /// Call with each field, in order.
    mutating func add(_ field: HTTPHeaders.Field) {
        isSound =
            isSound && isInPlace(field) && !field.name.isEmpty && field.name.allSatisfy(HeadCheck.isTokenCharacter)
            && field.value.allSatisfy(HeadCheck.isValueCharacter)
        if field.isNamed("Host") {
            hosts += 1
            isSound = isSound && HeadCheck.isHost(field.trimmed.value)
        } else if field.isNamed("Content-Length") {
            lengths += 1
        } else if field.isNamed("Transfer-Encoding") {
            codings += 1
            isChunked = field.trimmed.value.elementsEqual("chunked".utf8)
        }
    }

    private mutating func isInPlace(_ field: HTTPHeaders.Field) -> Bool {
        guard let next else { return true }
        guard let name = field.name.baseAddress, let value = field.value.baseAddress, name == next else { return false }
        // The colon has been overwritten, the white space after it has not.
        let colon = name + field.name.count
        guard value > colon else { return false }
        self.next = value + field.value.count + HeadCheck.lineEnd
        return UnsafeRawBufferPointer(start: colon, count: value - colon).dropFirst().allSatisfy(HeadCheck.isWhiteSpace)
    }

    /// Call after the last field.
    ///
    /// - Parameter size: the head's bytes, including the empty line.
    /// - Returns: why the request must not be trusted. Nothing that follows on the connection may be trusted, either.
    func refusal(size: Int) -> HTTPRefusal? {
        if let next, next + HeadCheck.lineEnd != start + size { return .malformedHead }
        // HTTP/1.0 has neither Host nor chunks.
        let hasHost = hosts == 1 || (hosts == 0 && isOld)
        guard isSound, hasHost, lengths <= 1, codings <= 1, codings == 0 || (lengths == 0 && !isOld) else {
            return .malformedHead
        }
        if !isKnownMethod { return .unknownMethod }
        if codings == 0 { return nil }
        return isChunked ? .lengthRequired : .unknownCoding
    }
}

// The grammar of RFC 9110, section 5, and RFC 9112.
extension HeadCheck {
    /// RFC 9110, section 9, PATCH (RFC 5789) and QUERY. Handlers refuse those that they do not support.
    private static let methods = [
        "GET", "POST", "HEAD", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY",
    ]

    private static func isTokenCharacter(_ byte: UInt8) -> Bool {
        byte.isASCIIAlphanumeric || byte == UInt8(ascii: "-") || "!#$%&'*+.^_`|~".utf8.contains(byte)
    }

    /// Non-ASCII bytes are allowed too.
    private static func isValueCharacter(_ byte: UInt8) -> Bool {
        (byte >= 0x20 && byte != 0x7F) || byte == UInt8(ascii: "\t")
    }

    static func isWhiteSpace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
    }

    /// The characters allowed in a target: visible ASCII.
    static func isTargetCharacter(_ byte: UInt8) -> Bool {
        (0x21...0x7E).contains(byte)
    }

    /// A host, possibly empty, and an optional port (RFC 3986, section 3.2). An address in brackets is not parsed.
    static func isHost(_ text: UnsafeRawBufferPointer) -> Bool {
        var host = text[...]
        if let colon = host.lastIndex(of: UInt8(ascii: ":")), host.last != UInt8(ascii: "]") {
            guard host[(colon + 1)...].allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) else { return false }
            host = host[..<colon]
        }
        let isAddress = host.first == UInt8(ascii: "[")
        if isAddress {
            guard host.count > 2, host.last == UInt8(ascii: "]") else { return false }
            host = host.dropFirst().dropLast()
        }
        return host.allSatisfy { isHostCharacter($0) || (isAddress && $0 == UInt8(ascii: ":")) }
    }

    private static func isHostCharacter(_ byte: UInt8) -> Bool {
        byte.isASCIIAlphanumeric || byte == UInt8(ascii: ".") || "-_~!$&'()*+,;=%".utf8.contains(byte)
    }
}

extension UInt8 {
    package var isASCIIAlphanumeric: Bool {
        switch self {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}

/// The libmicrohttpd that this process has loaded.
enum HTTPLibrary {
    /// The numbers of its version: 0, 9, 75.
    static let version = String(cString: MHD_get_version()).split(separator: ".").map { Int($0) ?? 0 }

    /// Whether its strict mode follows RFC 9112. Before 1.0 it does not, and `HeadCheck` checks its results.
    static let isStrict = !version.lexicographicallyPrecedes([1, 0])

    /// Whether `HeadCheck` covers the faults of this version.
    static let isKnown = !version.lexicographicallyPrecedes([0, 9, 75])
}
