internal import CSQLite
internal import Glibc
internal import Synchronization

/// SQLite's file system layer (sqlite.org/vfs.html): the system's own, except for three calls on databases: reading a
/// page and writing one, see `PageChecksum`, and giving up a lock of the write-ahead log.
///
/// The system's file is used as it is, with a copy of its method table in which these three are replaced; so all other
/// calls are the system's own. `Extra`, which this layer needs for each file, lies in memory behind the system's file.
enum GuardedFile {
    /// The name that a connection asks for to be guarded.
    static let name = "coordinatord"

    /// Whether SQLite knows this layer, which is registered at its first use.
    static let isRegistered: Bool = {
        guard let system = system.pointer, let name = strdup(name) else { return false }
        // Neither is freed: SQLite keeps both until the process ends.
        let guarded = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        guarded.initialize(to: system.pointee)
        guarded.pointee.pNext = nil
        guarded.pointee.zName = UnsafePointer(name)
        guarded.pointee.szOsFile = CInt(extraOffset + MemoryLayout<Extra>.size)
        guarded.pointee.xOpen = { GuardedFile.open($1, $2, $3, $4) }
        return sqlite3_vfs_register(guarded, 0) == SQLITE_OK
    }()

    private struct Extra {
        /// The system's own methods.
        let methods: UnsafePointer<sqlite3_io_methods>
        /// Whether the file's header says that its pages have checksums.
        var isGuarded: Bool
    }

    /// Immutable after its initialisation, and SQLite owns what it points to until the process ends.
    private struct System: @unchecked Sendable {
        let pointer = sqlite3_vfs_find(nil)
    }

    private static let system = System()
    private static let extraOffset = (Int(system.pointer?.pointee.szOsFile ?? 0) + 15) & ~15

    /// The system's method table, and the copy; both exist until the process ends.
    private struct Tables: @unchecked Sendable {
        let system: UnsafePointer<sqlite3_io_methods>
        let guarded: UnsafePointer<sqlite3_io_methods>
    }

    private static let tables = Mutex<Tables?>(nil)

    private static func extra(of file: UnsafeMutablePointer<sqlite3_file>) -> UnsafeMutablePointer<Extra> {
        (UnsafeMutableRawPointer(file) + extraOffset).assumingMemoryBound(to: Extra.self)
    }

    private static func open(
        _ path: UnsafePointer<CChar>?, _ file: UnsafeMutablePointer<sqlite3_file>?, _ flags: CInt,
        _ outFlags: UnsafeMutablePointer<CInt>?
    ) -> CInt {
        guard let file, let system = system.pointer else { return SQLITE_CANTOPEN }
        let code = system.pointee.xOpen(system, path, file, flags, outFlags)
        guard code == SQLITE_OK, flags & SQLITE_OPEN_MAIN_DB != 0, let methods = file.pointee.pMethods else {
            return code
        }
        guard let guarded = guardedMethods(for: methods) else {
            _ = methods.pointee.xClose(file)
            file.pointee.pMethods = nil
            return SQLITE_CANTOPEN
        }
        extra(of: file).initialize(to: Extra(methods: methods, isGuarded: false))
        file.pointee.pMethods = guarded
        return SQLITE_OK
    }

    /// - Returns: `nil` if the system has other methods for this file than for earlier ones; it has one table for all
    ///   files.
    private static func guardedMethods(
        for methods: UnsafePointer<sqlite3_io_methods>
    ) -> UnsafePointer<sqlite3_io_methods>? {
        let known = tables.withLock { tables in
            if let tables { return tables }
            let copy = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
            copy.initialize(to: methods.pointee)
            copy.pointee.xRead = { GuardedFile.read($0, $1, $2, $3) }
            copy.pointee.xWrite = { GuardedFile.write($0, $1, $2, $3) }
            copy.pointee.xShmLock = { GuardedFile.lock($0, $1, $2, $3) }
            let made = Tables(system: methods, guarded: copy)
            tables = made
            return made
        }
        return known.system == methods ? known.guarded : nil
    }

    private static func read(
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ bytes: UnsafeMutableRawPointer?, _ count: CInt, _ offset: Int64
    ) -> CInt {
        guard let file, let bytes else { return SQLITE_MISUSE }
        let extra = extra(of: file)
        let code = extra.pointee.methods.pointee.xRead(file, bytes, count, offset)
        if code == CSQLite_IOERR_SHORT_READ, extra.pointee.isGuarded, isPage(count, offset), isTruncated(file, offset) {
            return wrongChecksum
        }
        guard code == SQLITE_OK else { return code }
        // SQLite reads the header alone first, then pages.
        if offset == 0, count >= 100 { extra.pointee.isGuarded = PageChecksum.isGuarded(header: bytes) }
        guard extra.pointee.isGuarded, isPage(count, offset) else { return code }
        return PageChecksum.isValid(bytes, at: offset) ? code : wrongChecksum
    }

    /// Whether the file ends within the page. Pages are written whole.
    private static func isTruncated(_ file: UnsafeMutablePointer<sqlite3_file>, _ offset: Int64) -> Bool {
        var size: Int64 = 0
        guard extra(of: file).pointee.methods.pointee.xFileSize(file, &size) == SQLITE_OK else { return false }
        return size > offset && size < offset + Int64(PageChecksum.pageSize)
    }

    private static func write(
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ bytes: UnsafeRawPointer?, _ count: CInt, _ offset: Int64
    ) -> CInt {
        guard let file, let bytes else { return SQLITE_MISUSE }
        let extra = extra(of: file)
        if offset == 0, count >= 100 { extra.pointee.isGuarded = PageChecksum.isGuarded(header: bytes) }
        // The last bytes of a page are reserved, so they may change in SQLite's own memory.
        if extra.pointee.isGuarded, isPage(count, offset) {
            PageChecksum.fill(UnsafeMutableRawPointer(mutating: bytes), at: offset)
        }
        return extra.pointee.methods.pointee.xWrite(file, bytes, count, offset)
    }

    /// Tries again to give up a lock: SQLite does not look whether that has failed, for example because the system has no
    /// memory for locks now, and would find the lock taken for ever. After ten seconds it is.
    private static func lock(
        _ file: UnsafeMutablePointer<sqlite3_file>?, _ offset: CInt, _ count: CInt, _ flags: CInt
    ) -> CInt {
        guard let file, let lock = extra(of: file).pointee.methods.pointee.xShmLock else { return SQLITE_MISUSE }
        let code = lock(file, offset, count, flags)
        guard code != SQLITE_OK, flags & SQLITE_SHM_UNLOCK != 0 else { return code }
        for _ in 0..<1000 {
            usleep(10_000)
            if lock(file, offset, count, flags) == SQLITE_OK { return SQLITE_OK }
        }
        return code
    }

    /// An extended code of SQLITE_CORRUPT. After the plain one SQLite refuses the rest of a transaction, even what does
    /// not concern the damage.
    private static let wrongChecksum = SQLITE_CORRUPT | 100 << 8

    private static func isPage(_ count: CInt, _ offset: Int64) -> Bool {
        Int(count) == PageChecksum.pageSize && offset % Int64(PageChecksum.pageSize) == 0
    }
}
