internal import Glibc

/// Room on the disk that is set aside, as a file, for what is accepted also if the disk is full: that sessions end, and
/// are forgotten, and that tokens are revoked.
struct DiskReserve {
    private let path: String
    /// Bytes: enough to copy the log into the file, so that it begins anew in the room that it has, and to compact the
    /// tail, because only that leads to room. An eighth of a small disk.
    private let size: Int
    /// Bytes that are set aside.
    private var held = 0
    /// Why the system sets nothing aside, if it is not for lack of room. That keeps nobody from writing.
    private(set) var failure: String?

    /// What compacting a row may take, in bytes.
    private static let bytesPerRow = 512
    /// What SQLite needs to open its files.
    private static let leastSize = 1 << 16

    init(in directory: StoreDirectory) {
        path = directory.reserve
        var disk = statvfs()
        let isKnown = statvfs(directory.path, &disk) == 0 && disk.f_blocks > 0
        let largestSize = JournalWriter.compactionRows * DiskReserve.bytesPerRow
        let eighth = isKnown ? Int(disk.f_blocks * disk.f_frsize) / 8 : .max
        size = max(DiskReserve.leastSize, min(eighth, largestSize))
        fill()
        if !directory.hasDiskRoom(DiskReserve.leastSize) { spend() }
    }

    /// Bytes that are to be set aside again: the reserve is in use, or there was no room for it. Until there is, nothing else
    /// may take the room.
    var missing: Int { failure == nil ? size - held : 0 }
    var isSpent: Bool { missing > 0 }

    /// How many rows the tail may have. Few while the reserve is in use, so that what has ended soon makes room.
    var tailLimit: Int { size / DiskReserve.bytesPerRow / (isSpent ? 16 : 1) }

    /// Sets the room aside, or as large a part of it as there is.
    mutating func fill() {
        (held, failure) = (0, nil)
        // Not blocked by a pipe.
        let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard file >= 0 else { return note(errno) }
        defer { close(file) }
        var part = size
        while held == 0, failure == nil, part >= DiskReserve.leastSize {
            let error = posix_fallocate(file, 0, off_t(part))
            if error == 0 { held = part } else { note(error) }
            part /= 2
        }
        if held == 0 { unlink(path) }
    }

    private mutating func note(_ error: CInt) {
        if error != ENOSPC, error != EDQUOT { failure = String(cString: strerror(error)).lowercased() }
    }

    /// Gives the room away.
    mutating func spend() {
        held = 0
        unlink(path)
    }
}
