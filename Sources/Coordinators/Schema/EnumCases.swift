/// The names of an enum's cases, as its runtime metadata lists them. Swift has no public way to ask for those: the
/// layout read here is part of its stable ABI, see “Type Metadata” and “Enum Descriptor” in the compiler's documents.
enum EnumCases {
    /// - Returns: those with payloads first; `nil` if the type is no enum, or was compiled without reflection metadata.
    static func names(of type: Any.Type) -> [String]? {
        let metadata = unsafeBitCast(type, to: UnsafePointer<UInt>.self)
        guard metadata[0] == enumKind, let descriptor = UnsafeRawPointer(bitPattern: metadata[1]),
            let fields = target(of: descriptor + fieldsOffset)
        else { return nil }
        let count = Int(fields.loadUnaligned(fromByteOffset: 12, as: UInt32.self))
        let size = Int(fields.loadUnaligned(fromByteOffset: 10, as: UInt16.self))
        return (0..<count).compactMap { index in
            target(of: fields + 16 + index * size + 8).map {
                String(cString: $0.assumingMemoryBound(to: CChar.self))
            }
        }
    }

    /// The name of the case that a value has; `nil` if that is not known.
    static func name<Value>(of value: Value) -> String? {
        guard names(of: Value.self) != nil, let name = caseName(value) else { return nil }
        return String(cString: name)
    }

    private static let enumKind: UInt = 0x201
    private static let fieldsOffset = 16

    /// What an address relative to itself points to.
    private static func target(of address: UnsafeRawPointer) -> UnsafeRawPointer? {
        let offset = address.loadUnaligned(as: Int32.self)
        return offset == 0 ? nil : address + Int(offset)
    }
}

@_silgen_name("swift_EnumCaseName")
private func caseName<Value>(_ value: Value) -> UnsafePointer<CChar>?
