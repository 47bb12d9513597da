internal import JSONCoding

extension LivingCoordinator {
    /// The first member of a saved coordinator that this one would not save again; `nil` if there is none.
    func memberMissing(of saved: JSON) -> String? {
        let text = JSONWriter.bytes(capacity: encodedSize) { $0.value(saved) }
        if encoded.dropLast().suffix(text.count).elementsEqual(text) { return nil }
        return (try? JSON(parsing: encoded, maximumDepth: 512))?["state"]?.memberMissing(of: saved)
    }
}

extension JSON {
    /// Decodes what an earlier declaration of a type saved. A member that the type requires and the value lacks is
    /// taken from `blank`.
    ///
    /// - Parameter blank: the encoding of a value of this type; `nil` if there is none.
    func decode<Value: Decodable>(
        as type: Value.Type, completedFrom blank: JSON?
    ) throws(JSONDecodingError) -> Value {
        var saved = self
        while true {
            do {
                return try saved.decode(as: type)
            } catch {
                guard error.code == .required, let blank, saved.take(error.path[...], from: blank) else { throw error }
            }
        }
    }

    /// Takes one member from another value.
    ///
    /// - Parameter path: the names that lead to the member.
    /// - Returns: whether the other value has the member and this one lacked it.
    private mutating func take(_ path: ArraySlice<String>, from other: JSON) -> Bool {
        guard let name = path.first, object != nil, let source = other[name] else { return false }
        guard var member = self[name] else {
            self[name] = source
            return true
        }
        guard path.count > 1, member.take(path.dropFirst(), from: source) else { return false }
        self[name] = member
        return true
    }

    /// The first member of another value that this one lacks, object by object; `nil` if it has all. The members of
    /// arrays are not compared.
    func memberMissing(of other: JSON) -> String? {
        guard let object, let otherObject = other.object else { return nil }
        for member in otherObject.members where member.value != .null {
            guard let own = object[member.name] else { return member.name }
            if let missing = own.memberMissing(of: member.value) { return "\(member.name)/\(missing)" }
        }
        return nil
    }
}
