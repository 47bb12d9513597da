internal import Glibc

/// The write-ahead log as it is on the disk, checked before SQLite reads it.
///
/// SQLite treats the first invalid frame as the end of its log. After a crash this is right: only the last transaction
/// was not flushed. But if a later transaction follows, the damaged one had been flushed before the later one was
/// written. Then something that was acknowledged is lost, and SQLite would silently drop all that follows. Layout and
/// checksum: sqlite.org/fileformat2.html, section 4.
struct WriteAheadLog {
    private static let headerSize = 32
    private static let frameHeaderSize = 24

    private let bytes: UnsafeRawBufferPointer
    private let pageSize: Int
    private let isBigEndian: Bool

    /// - Throws: `damaged`, if a later transaction follows a damaged frame.
    static func check(_ path: String) throws(SQLiteStoreError) {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        // A log that is missing cannot be damaged.
        guard file >= 0 else { return }
        defer { Glibc.close(file) }
        var info = stat()
        guard fstat(file, &info) == 0, info.st_size > 0 else { return }
        // Read, not mapped: while a server runs, the file may be truncated, and a disk may fail.
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: Int(info.st_size), alignment: 8)
        defer { memory.deallocate() }
        var count = 0
        while count < memory.count {
            let read = Glibc.read(file, memory.baseAddress.map { $0 + count }, memory.count - count)
            guard read > 0 else { break }
            count += read
        }
        guard let log = WriteAheadLog(UnsafeRawBufferPointer(rebasing: memory[..<count])) else { return }
        guard let offset = log.firstDamage else { return }
        throw .damaged("\(path) is damaged at byte \(offset), and later transactions follow")
    }

    /// - Returns: `nil` if the header is invalid. SQLite then treats the log as empty; the content of the log before it
    ///   was in the database when the header was written.
    init?(_ bytes: UnsafeRawBufferPointer) {
        guard bytes.count >= WriteAheadLog.headerSize else { return nil }
        self.bytes = bytes
        let magic = WriteAheadLog.word(bytes, at: 0)
        pageSize = Int(WriteAheadLog.word(bytes, at: 8))
        isBigEndian = magic & 1 == 1
        guard magic & ~1 == 0x377F_0682, pageSize >= 512, pageSize <= 65536, pageSize % 8 == 0,
            sum(0..<24, after: (0, 0)) == sum(at: 24)
        else { return nil }
    }

    /// The position of a damaged frame that a valid later transaction follows; `nil` if there is none.
    var firstDamage: Int? {
        let frameSize = WriteAheadLog.frameHeaderSize + pageSize
        var before = sum(at: 24)
        var damage: Int?
        // Whether the damaged transaction has ended: what follows was written after it had been flushed.
        var endsTransaction = false
        var start = WriteAheadLog.headerSize
        while start + frameSize <= bytes.count {
            defer { start += frameSize }
            let isOfThisLog = (8..<16).allSatisfy { bytes[start + $0] == bytes[16 + $0 - 8] }
            let own = sum(at: start + 16)
            var expected = sum(start..<start + 8, after: before)
            expected = sum(start + WriteAheadLog.frameHeaderSize..<start + frameSize, after: expected)
            // The next frame's checksum was computed from the one that this frame states.
            before = own
            guard isOfThisLog else {
                damage = damage ?? start
                continue
            }
            let isWhole = expected == own
            if isWhole, endsTransaction { return damage }
            if !isWhole { damage = damage ?? start }
            let isCommit = WriteAheadLog.word(bytes, at: start + 4) != 0
            endsTransaction = endsTransaction || damage != nil && isCommit
        }
        return nil
    }

    private typealias Sum = (UInt32, UInt32)

    private func sum(at offset: Int) -> Sum {
        (WriteAheadLog.word(bytes, at: offset), WriteAheadLog.word(bytes, at: offset + 4))
    }

    private func sum(_ range: Range<Int>, after start: Sum) -> Sum {
        var (s0, s1) = start
        for offset in stride(from: range.lowerBound, to: range.upperBound, by: 8) {
            var (x0, x1) = sum(at: offset)
            if !isBigEndian { (x0, x1) = (x0.byteSwapped, x1.byteSwapped) }
            s0 = s0 &+ x0 &+ s1
            s1 = s1 &+ x1 &+ s0
        }
        return (s0, s1)
    }

    /// Four bytes, the most significant first.
    private static func word(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> UInt32 {
        UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }
}
