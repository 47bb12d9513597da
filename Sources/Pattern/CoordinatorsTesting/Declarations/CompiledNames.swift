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
        func value<Value: BitwiseCopyable>(at offset: UInt64, as: Value.Type = Value.self) -> Value? {
            guard offset <= UInt64(file.count), file.count - Int(offset) >= MemoryLayout<Value>.size else { return nil }
            return file.loadUnaligned(fromByteOffset: Int(offset), as: Value.self)
        }
        guard let header = value(at: 0, as: Elf64_Ehdr.self) else { return }
        let sections = (0..<UInt64(header.e_shnum)).compactMap { index in
            value(at: header.e_shoff &+ index * UInt64(header.e_shentsize), as: Elf64_Shdr.self)
        }
        guard let table = sections.first(where: { $0.sh_type == SHT_SYMTAB }),
            sections.indices.contains(Int(table.sh_link))
        else { return }
        let names = sections[Int(table.sh_link)]
        // The last name ends there, so that none reaches beyond the file.
        guard let last: UInt8 = value(at: names.sh_offset &+ names.sh_size &- 1), last == 0,
            value(at: table.sh_offset &+ table.sh_size &- 1, as: UInt8.self) != nil
        else { return }
        let (symbols, texts) = (file.baseAddress! + Int(table.sh_offset), file.baseAddress! + Int(names.sh_offset))
        let count = Int(table.sh_size) / MemoryLayout<Elf64_Sym>.stride
        // 300,000 symbols of a large program take 0.1 s, also if this is compiled without optimization.
        var index = 0
        while index < count {
            let symbol = symbols.loadUnaligned(
                fromByteOffset: index * MemoryLayout<Elf64_Sym>.stride, as: Elf64_Sym.self)
            index += 1
            guard UInt64(symbol.st_name) < names.sh_size else { continue }
            let name = (texts + Int(symbol.st_name)).assumingMemoryBound(to: CChar.self)
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
