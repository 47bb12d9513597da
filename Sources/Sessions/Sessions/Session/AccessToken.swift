internal import Coordinators
public import FoundationEssentials
internal import JSONCoding
public import Sodium
internal import Synchronization

/// One of a session's tokens, as it is kept: of the token itself only the digest.
public final class AccessToken: Sendable {
    /// How many tokens a session may have.
    public static let limit = 8

    /// Distinguishes the session's tokens. Each added token gets a new number; a token that replaces another one keeps
    /// that one's number.
    public let number: Int
    public let digest: SHA256Digest
    /// What the device is called: given with its pairing code, or by the device itself.
    public let label: String?
    /// In whole seconds.
    public let createdAt: Date
    /// The first version that the token gives access to: the one that it was made in, or in which another token of the
    /// session was replaced.
    public let firstVersion: Int
    /// What the device says about itself; `nil` if the session never had another device: then its state has it.
    let client: ClientInfo?
    /// The name of its role; `nil` for that of the device that opened the session, or if `client` is `nil`.
    let role: String?
    /// Seconds since 1970.
    private let lastUse: Atomic<Int>

    /// - Parameter usedAt: `nil` if it has not been used since it was made.
    init(
        number: Int = 1, _ digest: SHA256Digest, label: String? = nil, createdAt: Date, usedAt: Date? = nil,
        firstVersion: Int = 1, client: ClientInfo? = nil, role: String? = nil
    ) {
        self.number = number
        self.digest = digest
        self.label = label
        self.createdAt = createdAt.bounded.wholeSeconds
        self.firstVersion = firstVersion
        self.client = client
        self.role = role
        self.lastUse = Atomic((usedAt ?? createdAt).seconds)
    }

    /// When it was last used, to the minute.
    public var usedAt: Date { Date(timeIntervalSince1970: TimeInterval(lastUseSeconds)) }

    /// Since 1970.
    var lastUseSeconds: Int { lastUse.load(ordering: .relaxed) }

    /// How many seconds the actual last use may be later than the noted one.
    static let usePrecision = 60

    /// Notes a use. It costs a comparison, except once a minute.
    func noteUse(at now: Date) {
        let now = now.seconds
        guard now - lastUseSeconds >= AccessToken.usePrecision else { return }
        lastUse.max(now, ordering: .relaxed)
    }

    /// What a label may be, see `PairedDevice.isLabel`.
    public static func isLabel(_ text: String) -> Bool { PairedDevice.isLabel(text) }
}

extension AccessToken {
    /// The same device with another token, or, without one, with access from a later version on.
    func with(_ digest: SHA256Digest?, at now: Date, from version: Int) -> AccessToken {
        AccessToken(
            number: number, digest ?? self.digest, label: label, createdAt: digest == nil ? createdAt : now,
            usedAt: digest == nil ? usedAt : now, firstVersion: version, client: client, role: role)
    }

    /// The same device, which says something else about itself.
    func with(_ client: ClientInfo, role: String?) -> AccessToken {
        AccessToken(
            number: number, digest, label: label, createdAt: createdAt, usedAt: usedAt, firstVersion: firstVersion,
            client: client, role: role)
    }
}

/// Compared without their last uses.
extension AccessToken: Equatable {
    public static func == (left: AccessToken, right: AccessToken) -> Bool {
        left.number == right.number && left.digest == right.digest && left.label == right.label
            && left.createdAt == right.createdAt && left.firstVersion == right.firstVersion
            && left.client == right.client && left.role == right.role
    }
}

// In a record.
extension AccessToken {
    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("number", number)
            writer.member("token", digest.hex)
            writer.member("label", ifAny: label)
            writer.member("createdAt", createdAt.milliseconds)
            writer.member("usedAt", usedAt.milliseconds)
            writer.member("firstVersion", ifAny: firstVersion > 1 ? firstVersion : nil)
            writer.member("client", ifAny: client?.values)
            writer.member("role", ifAny: role)
        }
    }

    /// - Parameter json: an element of a record's `tokens`.
    convenience init(_ json: JSON) throws(RecordError) {
        let label: String? = json["label"] == nil ? nil : try json.part("label")
        guard label.map(AccessToken.isLabel) ?? true else { throw .invalid(member: "label") }
        let client = try? json["client"].map { try ClientInfo($0) }
        guard json["client"] == nil || client != nil else { throw .invalid(member: "client") }
        self.init(
            number: try json.version("number"), try json.digest("token"), label: label,
            createdAt: try json.time("createdAt"), usedAt: try json.time("usedAt"),
            firstVersion: json["firstVersion"] == nil ? 1 : try json.version("firstVersion"), client: client,
            role: json["role"] == nil ? nil : try json.part("role"))
    }
}

extension Date {
    /// Since 1970.
    fileprivate var seconds: Int { Int(bounded.timeIntervalSince1970.rounded(.down)) }
}
