internal import Glibc

/// The write-ahead log as it lies on the disk, looked at before SQLite does.
///
/// SQLite takes the first frame that is not whole for the end of its log. After a crash it is: only the last transaction
/// was not flushed. But where a later transaction follows, which was not written before the damaged one had been
/// flushed, something that was acknowledged is lost, and SQLite would drop all that follows without a word. Layout and
/// checksum: sqlite.org/fileformat2.html, section 4.
struct WriteAheadLog {
    private static let headerSize = 32
    private static let frameHeaderSize = 24

    private let bytes: UnsafeRawBufferPointer
    private let pageSize: Int
    private let isBigEndian: Bool

    /// - Throws: `damaged`, where a damaged frame is followed by a later transaction.
    static func check(_ path: String) throws(SQLiteStoreError) {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        // A log that is not there has nothing to lose.
        guard file >= 0 else { return }
        defer { Glibc.close(file) }
        var info = stat()
        guard fstat(file, &info) == 0, info.st_size > 0 else { return }
        let count = Int(info.st_size)
        // Borrowed until `munmap`. The directory is locked: nobody cuts the file meanwhile.
        guard let memory = mmap(nil, count, PROT_READ, MAP_PRIVATE, file, 0), memory != MAP_FAILED else { return }
        defer { munmap(memory, count) }
        guard let log = WriteAheadLog(UnsafeRawBufferPointer(start: memory, count: count)) else { return }
        guard let offset = log.firstDamage else { return }
        throw .damaged("\(path) is damaged at byte \(offset), and later transactions follow")
    }

    /// - Returns: `nil` where the header is not whole: then SQLite takes the log for empty, and the one before was in the
    ///   database when it was written.
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

    /// The position of a damaged frame behind which a later transaction is whole.
    var firstDamage: Int? {
        let frameSize = WriteAheadLog.frameHeaderSize + pageSize
        var before = sum(at: 24)
        var damage: Int?
        // Whether the transaction with the damage has ended: what follows was written when it had been flushed.
        var endsTransaction = false
        var start = WriteAheadLog.headerSize
        while start + frameSize <= bytes.count {
            defer { start += frameSize }
            let isOfThisLog = (8..<16).allSatisfy { bytes[start + $0] == bytes[16 + $0 - 8] }
            let own = sum(at: start + 16)
            var expected = sum(start..<start + 8, after: before)
            expected = sum(start + WriteAheadLog.frameHeaderSize..<start + frameSize, after: expected)
            // What the frame says itself is what the next one was computed from.
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
