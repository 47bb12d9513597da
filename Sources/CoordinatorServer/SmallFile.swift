internal import Glibc

/// Reads a file that a person has written: settings, a password, a token.
enum SmallFile {
    /// Why a file cannot be used.
    struct Unreadable: Error {
        /// A sentence without its full stop, which names the file.
        let reason: String
    }

    /// Bytes. All settings together take a few thousand.
    private static let sizeLimit = 64 << 10

    /// How long a pipe may be silent, in milliseconds.
    private static let patience: CInt = 5000

    static func bytes(of path: String) throws(Unreadable) -> [UInt8] {
        func failed() -> Unreadable {
            Unreadable(reason: "\(path) cannot be read: \(String(cString: strerror(errno)).lowercased())")
        }
        // Does not wait for somebody to write to a pipe.
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { throw failed() }
        defer { close(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while bytes.count <= sizeLimit {
            var wanted = pollfd(fd: file, events: Int16(POLLIN), revents: 0)
            guard poll(&wanted, 1, patience) != 0 else {
                throw Unreadable(reason: "\(path) is a pipe to which nobody has written for \(patience / 1000) seconds")
            }
            let count = read(file, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failed() }
            if count == 0 { return bytes }
            bytes += buffer[..<count]
        }
        throw Unreadable(reason: "\(path) has more than \(ByteSize(sizeLimit))")
    }
}
