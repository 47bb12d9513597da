internal import Glibc

/// Room on the disk that is set aside, as a file, for what is accepted also if the disk is full: that sessions end, and
/// are forgotten, and that tokens are revoked.
struct DiskReserve {
    private let path: String
    /// Bytes: enough to copy the log into the file, so that it begins anew in the room that it has, and to compact the
    /// tail, because only that leads to room. An eighth of a small disk.
    let size: Int
    /// How many rows the tail may have.
    let tailLimit: Int
    /// Whether there is no reserve, for lack of room or because it is in use. Until there is one again, nothing else may
    /// take the room.
    private(set) var isSpent = false

    /// What compacting a row may take, in bytes.
    private static let bytesPerRow = 512

    init(in directory: StoreDirectory) {
        path = directory.reserve
        var disk = statvfs()
        let isKnown = statvfs(directory.path, &disk) == 0
        let largestSize = JournalWriter.compactionRows * DiskReserve.bytesPerRow
        size = min(isKnown ? Int(disk.f_blocks * disk.f_frsize) / 8 : .max, largestSize)
        tailLimit = size / DiskReserve.bytesPerRow
        fill()
    }

    /// Sets the room aside, if there is so much. What else the system may refuse keeps nobody from writing.
    mutating func fill() {
        let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard file >= 0 else { return isSpent = errno == ENOSPC || errno == EDQUOT }
        defer { close(file) }
        let error = posix_fallocate(file, 0, off_t(size))
        isSpent = error == ENOSPC || error == EDQUOT
        if error != 0 { unlink(path) }
    }

    /// Gives the room away.
    mutating func spend() {
        isSpent = true
        unlink(path)
    }
}
