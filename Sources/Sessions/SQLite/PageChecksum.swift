internal import CSQLite
internal import Glibc

/// The checksum at the end of every page of a guarded database.
///
/// SQLite has checksums in its log but not in its file: a bit flipped in the file is read as if it had been written, or
/// hides a row. A guarded database reserves the last bytes of each page (sqlite.org/fileformat2.html, section 1.3.4).
/// They are filled in when the page is written to the file, and compared when it is read from there; reading a page
/// that is not what was written fails with `SQLITE_CORRUPT`. Other programs can read such a file, but damage the pages
/// that they write.
public enum PageChecksum {
    /// Bytes of a page, the checksum included.
    public static let pageSize = 8192
    /// Bytes of the checksum.
    static let size = 8

    private static let words = (pageSize - size) / 8

    /// - Parameter number: the page's number, so that a page in another's place is detected.
    static func compute(_ page: UnsafeRawPointer, number: Int64) -> UInt64 {
        let start = UInt64(bitPattern: number)
        var (a, b, c): (UInt64, UInt64, UInt64) = (start, ~start, start ^ 0x5555_5555_5555_5555)
        var offset = 0
        // Three lanes, because their multiplications run in parallel; 1,023 words are three times 341.
        while offset < words * 8 {
            a = mixed(a, page.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            b = mixed(b, page.loadUnaligned(fromByteOffset: offset + 8, as: UInt64.self))
            c = mixed(c, page.loadUnaligned(fromByteOffset: offset + 16, as: UInt64.self))
            offset += 24
        }
        return mixed(mixed(a, b), c)
    }

    /// Adds a word to a sum. A bijection for each word: data that differs in one word has another sum.
    @inline(__always)
    private static func mixed(_ sum: UInt64, _ word: UInt64) -> UInt64 {
        let both = sum ^ UInt64(littleEndian: word)
        return (both << 29 | both >> 35) &* 0x9E37_79B9_7F4A_7C15
    }

    static func fill(_ page: UnsafeMutableRawPointer, at offset: Int64) {
        let sum = compute(page, number: offset / Int64(pageSize))
        page.storeBytes(of: sum.littleEndian, toByteOffset: pageSize - size, as: UInt64.self)
    }

    static func isValid(_ page: UnsafeRawPointer, at offset: Int64) -> Bool {
        let sum = UInt64(
            littleEndian: page.loadUnaligned(fromByteOffset: pageSize - size, as: UInt64.self))
        return sum == compute(page, number: offset / Int64(pageSize))
    }

    private static func isZero(_ page: UnsafeRawPointer) -> Bool {
        UnsafeRawBufferPointer(start: page, count: pageSize).allSatisfy { $0 == 0 }
    }

    /// Whether the first bytes of a file say that its pages are guarded: page size and reserved bytes.
    static func isGuarded(header: UnsafeRawPointer) -> Bool {
        let size = header.loadUnaligned(fromByteOffset: 16, as: UInt16.self).bigEndian
        return Int(size) == pageSize && header.load(fromByteOffset: 20, as: UInt8.self) == PageChecksum.size
    }

    public static let scanStep = 1 << 20

    /// Reads the whole file and compares the checksums. A page that differs is read again, because a server may be
    /// writing it. Pages of zeros are skipped: they became free before they were written, and SQLite does not read
    /// them. So is a last page that is not whole: if the disk was full, the log has it.
    ///
    /// - Parameters:
    ///   - file: a descriptor. If the same process has the database open, close the descriptor after the database,
    ///     because closing it drops the process's locks (fcntl(2)).
    ///   - pause: called after each `scanStep` bytes; returning `false` ends the search.
    ///   - damaged: called with the number of each damaged page, counted from 1.
    public static func scan(_ file: CInt, pause: () -> Bool = { true }, damaged: (Int) -> Void) {
        let page = UnsafeMutableRawPointer.allocate(byteCount: pageSize, alignment: 8)
        defer { page.deallocate() }
        guard pread(file, page, pageSize, 0) == pageSize, isGuarded(header: page) else { return }
        var offset: Int64 = 0
        while pread(file, page, pageSize, Int(offset)) == pageSize {
            var tries = 0
            while !isValid(page, at: offset), !isZero(page), tries < 5 {
                tries += 1
                usleep(20_000)
                guard pread(file, page, pageSize, Int(offset)) == pageSize else { return }
            }
            if tries == 5, !isValid(page, at: offset) { damaged(Int(offset) / pageSize + 1) }
            offset += Int64(pageSize)
            if Int(offset) % scanStep == 0, !pause() { return }
        }
    }
}
