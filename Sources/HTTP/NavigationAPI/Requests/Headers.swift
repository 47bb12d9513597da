internal import ByteText
internal import MicroHTTP
internal import Sessions
internal import Sodium

extension HTTPHeaders {
    /// The token of `Authorization: Bearer …` (RFC 6750, section 2.1); `nil` unless there is exactly one such field, with
    /// that scheme.
    var bearerToken: String? {
        guard var field = only("Authorization") else { return nil }
        return field.withUTF8 { bytes in
            let scheme: StaticString = "bearer "
            let start = scheme.utf8CodeUnitCount
            guard bytes.count > start else { return nil }
            // The scheme consists of letters, whose two cases differ in one bit, and a space, which has that bit set.
            for index in 0..<start where bytes[index] | 0x20 != scheme.utf8Start[index] { return nil }
            // RFC 9110, section 11.6.2, allows several spaces.
            let first = bytes[start...].firstIndex { $0 != UInt8(ascii: " ") } ?? bytes.count
            return String(decoding: bytes[first...], as: UTF8.self)
        }
    }
}

extension [String] {
    /// The items of fields that are lists (RFC 9110, section 5.6.1).
    fileprivate var items: some Sequence<Substring> { lazy.flatMap { $0.parts(at: ",") }.map(\.trimmed) }

    /// What a client accepts, and how much it likes each: from 0 to 1 (section 12.4.2).
    fileprivate var weightedItems: some Sequence<(name: Substring, weight: Double)> {
        items.lazy.map { item in
            let parts = item.parts(at: ";")
            let parameters = parts.dropFirst().compactMap { $0.cut(at: "=") }
            let weight = parameters.first { $0.before.trimmed.isSame(as: "q") }
            return (parts[0].trimmed, weight.map { Double($0.after.trimmed) ?? 0 } ?? 1)
        }
    }
}

/// The keys of those who are no clients of a session: other systems, and operators.
public protocol NamedKeys: Sendable {
    /// The name of who has the key; `nil` if nobody has.
    func name(ofKey key: String) -> String?
}

/// Keys by their digests: the time that a lookup takes reveals nothing about a key.
public struct KeyTable: NamedKeys, Equatable {
    private var names: [SHA256Digest: String] = [:]

    /// - Parameter keys: each with the name of who has it.
    public init(_ keys: [String: String] = [:]) {
        for (key, name) in keys { names[SHA256Digest(of: key)] = name }
    }

    public var count: Int { names.count }

    /// - Returns: `false` if somebody has the key already.
    public mutating func add(_ key: String, of name: String) -> Bool {
        let digest = SHA256Digest(of: key)
        guard names[digest] == nil else { return false }
        names[digest] = name
        return true
    }

    public func name(ofKey key: String) -> String? { names[SHA256Digest(of: key)] }

    /// The names of the keys that another table does not have, or not under this name.
    public func names(missingIn other: KeyTable) -> [String] {
        names.filter { other.names[$0.key] != $0.value }.values.sorted()
    }
}

/// Entity tags (RFC 9110, section 8.8.3).
enum EntityTag {
    /// `"9"`; `"9.2"` in the second generation of the store; `"9-51c0ffee"` for a version that another build has made,
    /// as this build shows it; `"9@2"` as device 2 sees it, see `SessionState.drawing`.
    static func text(_ tag: VersionTag, drawing: Int = 0) -> String {
        var text = "\"" + String(tag.version)
        if tag.generation > 1 { text += "." + String(tag.generation) }
        if tag.build != 0 { text += "-" + String(tag.build, radix: 16) }
        if drawing != 0 { text += "@" + String(drawing) }
        return text + "\""
    }

    /// What the tag of an answer that is compressed ends with, before its quotes: it is another representation of the
    /// same state (section 8.8.3.3). Apache and Caddy write it so, too.
    private static let coding = "-gzip\""

    /// The tag of the compressed answer that has this tag otherwise.
    static func compressed(_ tag: String) -> String { String(tag.dropLast()) + coding }

    /// The tag without the end that compressed answers have: conditions are about the state.
    static func uncompressed(_ tag: Substring) -> Substring {
        tag.ends(with: coding) ? tag.dropLast(coding.utf8.count) + "\"" : tag
    }

    /// - Parameter text: without its quotes.
    private static func version(_ text: Substring) -> (tag: VersionTag, drawing: Int)? {
        let drawn = text.parts(at: "@", limit: 2)
        let parts = drawn[0].parts(at: "-", limit: 2)
        let numbers = parts[0].parts(at: ".", limit: 2).map { Int($0) }
        guard let version = numbers[0], version > 0, let generation = numbers.count == 1 ? 1 : numbers[1],
            let build = parts.count == 1 ? 0 : Int(parts[1], radix: 16),
            let drawing = drawn.count == 1 ? 0 : Int(drawn[1]), drawing >= 0
        else { return nil }
        return (VersionTag(version, generation: generation, build: build), drawing)
    }

    /// The condition of an `If-Match`; `nil` if there is none. A tag that is not a version matches nothing. One that is
    /// weak counts as the same tag, other than section 13.1.1 says: a tag names a version whatever its bytes are, and many
    /// proxies that compress make it weak.
    static func condition(_ fields: [String]) throws(Problem) -> VersionCondition? {
        guard !fields.isEmpty else { return nil }
        if fields == ["*"] { return .any }
        var versions: Set<VersionTag> = []
        for item in fields.items {
            let item = uncompressed(item.begins(with: "W/") ? Substring(item.utf8.dropFirst(2)) : item)
            guard let inside = item.inside("\"", "\"") else {
                throw .malformed("If-Match must be * or a list of entity tags in quotes.")
            }
            // Tags are compared as texts: "01" is not the tag of version 1.
            if let (tag, drawing) = version(inside), item == text(tag, drawing: drawing) {
                versions.insert(VersionTag(tag.version, generation: tag.generation))
            }
        }
        return .oneOf(versions)
    }

    /// Whether a field lists exactly this tag.
    static func has(_ fields: [String], _ tag: String) -> Bool { fields.items.contains { $0 == tag } }

    /// Whether an `If-None-Match` contains the tag, by the weak comparison (section 13.1.2).
    static func matches(_ fields: [String], _ tag: String) -> Bool {
        fields.items.contains { item in
            let item = uncompressed(item)
            return item == "*" || item == tag || item == "W/\(tag)"
        }
    }
}

/// The preferences of a client, which the server may ignore (RFC 7240).
enum Preference {
    /// The longest wait, in seconds: less than the minute after which many proxies give up.
    static let longestWait = 50

    /// How many seconds the client is willing to wait (section 4.3). Of several such preferences the first counts.
    ///
    /// - Parameter fields: the values of `Prefer`.
    /// - Returns: `nil` if there is none, or it has no number.
    static func wait(_ fields: [String], atMost longestWait: Int) -> Int? {
        for preference in fields.items {
            let parts = preference.parts(at: ";")[0].parts(at: "=", limit: 2)
            guard parts[0].trimmed.isSame(as: "wait") else { continue }
            guard parts.count == 2 else { return nil }
            var value = parts[1].trimmed
            value = value.inside("\"", "\"") ?? value
            guard !value.isEmpty, value.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
            return min(Int(value) ?? longestWait, longestWait)
        }
        return nil
    }
}

// What a client understands.
extension HTTPHeaders {
    /// Whether the client accepts gzip, and does not prefer an answer that is not compressed (RFC 9110, section 12.5.3).
    var prefersGzip: Bool {
        var gzip: Double?, identity: Double?, others: Double?
        for (coding, weight) in values("Accept-Encoding").weightedItems {
            // The older name means the same (section 8.4.1.3).
            if coding.isSame(as: "gzip") || coding.isSame(as: "x-gzip") {
                gzip = max(gzip ?? 0, weight)
            } else if coding.isSame(as: "identity") {
                identity = weight
            } else if coding == "*" {
                others = weight
            }
        }
        let wish = gzip ?? others ?? 0
        return wish > 0 && wish >= identity ?? 0
    }

    /// The ranges of the user's languages (section 12.5.4), the best one first; none if the client names none.
    var languages: [String] {
        // Users name a few. Equal ones stay in their order.
        let ranges = values("Accept-Language").weightedItems.lazy.filter { $0.weight > 0 }.prefix(16)
        return ranges.sorted { $0.weight > $1.weight }.map { String($0.name) }
    }
}

extension SessionState {
    var entityTag: String { EntityTag.text(tag, drawing: drawing) }
}

/// The `Idempotency-Key` of a request (draft-ietf-httpapi-idempotency-key-header-07): a string in quotes, or bare.
struct IdempotencyKey {
    static let limit = 255

    let text: String

    /// - Returns: `nil` if there is none.
    init?(_ headers: HTTPHeaders) throws(Problem) {
        let fields = headers.values("Idempotency-Key")
        guard let field = fields.first else { return nil }
        let limit = IdempotencyKey.limit
        guard fields.count == 1, let text = IdempotencyKey.text(of: field), (1...limit).contains(text.utf8.count) else {
            throw .malformed(
                "Idempotency-Key must be one string of 1 to \(limit) ASCII characters, in quotes or bare.")
        }
        self.text = text
    }

    /// A key as a segment of a path, without quotes.
    ///
    /// - Returns: `nil` if no request can have such a key.
    init?(segment text: String) {
        guard (1...IdempotencyKey.limit).contains(text.utf8.count), IdempotencyKey.isPrintable(text) else { return nil }
        self.text = text
    }

    private static func isPrintable(_ text: String) -> Bool { text.utf8.allSatisfy { (0x20...0x7E).contains($0) } }

    private static func endsToken(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: " "), UInt8(ascii: "\""), UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "\\"): true
        default: false
        }
    }

    /// The key without its quotes (RFC 8941, section 3.3.3); a bare key has neither quotes nor spaces.
    private static func text(of field: String) -> String? {
        guard isPrintable(field) else { return nil }
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
            throw .malformed(
                "Idempotency-Key must be at least \(leastCharacters) random characters where a session is created.")
        }
        let includesControls = try request.includesControls()
        self.init(key: key.text, request: body.canonicalBytes) { applied in
            StateBody(state: applied.state, transition: applied.transition, includesControls: includesControls).bytes
        }
    }
}
