/// A type that can be read from one JSON value; the counterpart of `JSONWritable`. It is for types that are read so
/// often that `Decodable`, with a container and a coding path for every value, would cost too much.
package protocol JSONReadable {
    /// - Throws: why the value does not fit, and where in it.
    init(json: JSON) throws(JSONDecodingError)
}

extension JSON {
    /// The value of a member that must be there.
    package func member<Value: JSONReadable>(_ name: String) throws(JSONDecodingError) -> Value {
        guard let member = try JSONObject(json: self)[name] else {
            throw JSONDecodingError(path: [], reason: "lacks “\(name)”")
        }
        return try member.read(at: name)
    }

    /// The value of a member that may be missing, or `null`.
    package func member<Value: JSONReadable>(ifAny name: String) throws(JSONDecodingError) -> Value? {
        guard let member = try JSONObject(json: self)[name] else { return nil }
        if case .null = member { return nil }
        return try member.read(at: name)
    }

    /// Reads this value, and adds its place to the path of an error.
    ///
    /// - Parameter name: the name of the member, or the position of the element, that this value is.
    func read<Value: JSONReadable>(at name: @autoclosure () -> String) throws(JSONDecodingError) -> Value {
        do {
            return try Value(json: self)
        } catch {
            throw JSONDecodingError(path: [name()] + error.path, reason: error.reason, code: error.code)
        }
    }
}

extension JSON: JSONReadable {
    package init(json: JSON) { self = json }
}

extension JSONObject: JSONReadable {
    package init(json: JSON) throws(JSONDecodingError) {
        guard case .object(let object) = json else { throw JSONDecodingError(path: [], reason: "must be an object") }
        self = object
    }
}

extension String: JSONReadable {
    package init(json: JSON) throws(JSONDecodingError) {
        guard case .string(let text) = json else { throw JSONDecodingError(path: [], reason: "must be a string") }
        self = text
    }
}

extension Int: JSONReadable {
    package init(json: JSON) throws(JSONDecodingError) {
        guard let integer = json.integer else {
            throw JSONDecodingError(path: [], reason: "must be an integer in range")
        }
        self = integer
    }
}

extension Bool: JSONReadable {
    package init(json: JSON) throws(JSONDecodingError) {
        guard case .bool(let value) = json else { throw JSONDecodingError(path: [], reason: "must be a boolean") }
        self = value
    }
}

extension Array: JSONReadable where Element: JSONReadable {
    package init(json: JSON) throws(JSONDecodingError) {
        guard case .array(let elements) = json else { throw JSONDecodingError(path: [], reason: "must be an array") }
        self.init()
        reserveCapacity(elements.count)
        for (index, element) in elements.enumerated() { append(try element.read(at: String(index))) }
    }
}

extension JSONReadable where Self: RawRepresentable<String> {
    package init(json: JSON) throws(JSONDecodingError) {
        guard let value = Self(rawValue: try String(json: json)) else {
            throw JSONDecodingError(path: [], reason: "is not acceptable")
        }
        self = value
    }
}
