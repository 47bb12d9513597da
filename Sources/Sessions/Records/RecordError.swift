internal import FoundationEssentials
internal import JSONCoding
internal import Sodium

/// Why a text is not a record.
public enum RecordError: Error, Equatable, Sendable {
    case notJSON
    /// The member is missing or has an invalid value.
    case invalid(member: String)
}

extension RecordError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notJSON: "it is not JSON"
        case .invalid(let member): "its “\(member)” is missing or out of range"
        }
    }
}

// The members of records and answers.
extension JSON {
    init(record text: [UInt8]) throws(RecordError) {
        do { self = try JSON(parsing: text, maximumDepth: SessionRecord.depthLimit) } catch { throw .notJSON }
    }

    func part<Value: JSONReadable>(_ name: String) throws(RecordError) -> Value {
        do { return try member(name) } catch { throw .invalid(member: name) }
    }

    func version(_ name: String) throws(RecordError) -> Int {
        let version: Int = try part(name)
        guard (1...SessionRecord.versionLimit).contains(version) else { throw .invalid(member: name) }
        return version
    }

    func time(_ name: String) throws(RecordError) -> Date {
        Date(milliseconds: try part(name))
    }

    func id(_ name: String = "session") throws(RecordError) -> SessionID {
        guard let id = SessionID(try part(name)) else { throw .invalid(member: name) }
        return id
    }

    func digest(_ name: String) throws(RecordError) -> SHA256Digest {
        guard let digest = SHA256Digest(hex: try part(name)) else { throw .invalid(member: name) }
        return digest
    }
}
