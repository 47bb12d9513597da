#if os(Linux)
internal import CSymbols
internal import Glibc
#endif

/// The names that the compiler has given to what is in the running program, from the table of symbols in its file. Empty in a
/// release build, which has not kept the functions that nobody calls; a stripped program has no table.
struct CompiledNames: Sendable {
    static let ofProgram = CompiledNames()

    /// Of functions, also static ones.
    private(set) var functions: [String] = []
    /// Of conformances to protocols.
    private(set) var conformances: [String] = []

    /// What a name stands for, such as `static Shop.Cart.migrate(_: JSONCoding.JSON, from: Swift.Int) throws -> Shop.Cart`.
    static func spelledOut(_ name: String) -> String? {
        #if os(Linux)
        guard let text = swift_demangle(name, name.utf8.count, nil, nil, 0) else { return nil }
        defer { free(text) }
        return String(cString: text)
        #else
        return nil
        #endif
    }

    private init() {
        #if os(Linux) && DEBUG
        let file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return }
        defer { close(file) }
        let size = Int(lseek(file, 0, SEEK_END))
        guard size > 0, let start = mmap(nil, size, PROT_READ, MAP_PRIVATE, file, 0), start != MAP_FAILED
        else { return }
        defer { munmap(start, size) }
        read(UnsafeRawBufferPointer(start: start, count: size))
        #endif
    }

    #if os(Linux)
    private mutating func read(_ file: UnsafeRawBufferPointer) {
        /// `nil` if the file does not have it whole.
        func part(at offset: UInt64, size: UInt64) -> UnsafeRawBufferPointer? {
            guard let offset = Int(exactly: offset), let size = Int(exactly: size), offset <= file.count,
                size <= file.count - offset
            else { return nil }
            return UnsafeRawBufferPointer(rebasing: file[offset..<offset + size])
        }
        func value<Value: BitwiseCopyable>(at offset: UInt64, as type: Value.Type) -> Value? {
            part(at: offset, size: UInt64(MemoryLayout<Value>.size))?.loadUnaligned(as: type)
        }
        guard let header = value(at: 0, as: Elf64_Ehdr.self) else { return }
        let sections = (0..<UInt64(header.e_shnum)).compactMap { index in
            value(at: header.e_shoff &+ index * UInt64(header.e_shentsize), as: Elf64_Shdr.self)
        }
        guard let table = sections.first(where: { $0.sh_type == SHT_SYMTAB }),
            sections.indices.contains(Int(table.sh_link)),
            let symbols = part(at: table.sh_offset, size: table.sh_size),
            case let list = sections[Int(table.sh_link)],
            let texts = part(at: list.sh_offset, size: list.sh_size), texts.last == 0
        else { return }
        // 300,000 symbols of a large program take 0.1 s, also if this is compiled without optimization.
        let size = MemoryLayout<Elf64_Sym>.stride
        var offset = 0
        while offset + size <= symbols.count {
            let symbol = symbols.loadUnaligned(fromByteOffset: offset, as: Elf64_Sym.self)
            offset += size
            guard Int(symbol.st_name) < texts.count, let start = texts.baseAddress else { continue }
            let name = (start + Int(symbol.st_name)).assumingMemoryBound(to: CChar.self)
            guard name[0] == 0x24, name[1] == 0x73 else { continue }  // $s
            let length = strlen(name)
            switch (name[length - 2], name[length - 1]) {
            case (_, 0x46), (0x46, 0x5A): functions.append(String(cString: name))  // F, FZ
            case (0x4D, 0x63): conformances.append(String(cString: name))  // Mc
            default: break
            }
        }
    }
    #endif
}
