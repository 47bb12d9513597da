internal import ArgumentParser
internal import ByteText
internal import Glibc
internal import Logging
internal import MicroHTTP
internal import NavigationAPI
internal import Sodium
internal import Synchronization

/// The keys with which other systems send signals, from a file that is read again when it changes. So keys are replaced
/// without a restart: the new one is added, then used, then the old one is removed.
final class ServiceKeyFile: ServiceKeys {
    /// How long a key must be, in characters.
    static let leastLength = 32
    private static let longestKey = 512

    private let path: String
    private let logger: Logger
    /// The names of the services, by the digests of their keys: the time that a lookup takes reveals nothing about a
    /// key.
    private let services: Mutex<[SHA256Digest: String]>
    private let seen: Mutex<FileVersion?>

    /// - Throws: an exit code, after printing the reason to standard error.
    init(_ path: String, _ logger: Logger) throws {
        self.path = path
        self.logger = logger
        seen = Mutex(FileVersion(of: path))
        do throws(Unusable) {
            services = Mutex(try ServiceKeyFile.services(in: path))
        } catch {
            throw ExitCode.cannotStart(error.exitCode, "--service-key-file: \(error.reason)")
        }
    }

    func service(withKey key: String) -> String? {
        let digest = SHA256Digest(of: key)
        return services.withLock { $0[digest] }
    }

    /// Reads the file again when it has changed, until the task is cancelled. While it cannot be used, the keys stay as
    /// they were.
    func follow() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: .seconds(1))
            let version = FileVersion(of: path)
            guard version != seen.withLock({ $0 }) else { continue }
            seen.withLock { $0 = version }
            do throws(Unusable) {
                // Waiting for a pipe would hold up others.
                if version?.isRegular == false { throw Unusable(exitCode: EX_NOINPUT, reason: "\(path) is no file") }
                let new = try ServiceKeyFile.services(in: path)
                services.withLock { $0 = new }
                logger.info("\(path) has changed: it has \(new.count) keys of services now")
            } catch {
                logger.error("--service-key-file: \(error.reason); the keys stay as they were")
            }
        }
    }

    /// Why the file cannot be used: a sentence without its full stop.
    private struct Unusable: Error {
        let exitCode: CInt
        let reason: String
    }

    private static func services(in path: String) throws(Unusable) -> [SHA256Digest: String] {
        let text: String
        do throws(SmallFile.Unreadable) {
            text = String(decoding: try SmallFile.bytes(of: path), as: UTF8.self)
        } catch {
            throw Unusable(exitCode: EX_NOINPUT, reason: error.reason)
        }
        var services: [SHA256Digest: String] = [:]
        for (index, line) in text.parts(at: "\n").enumerated() {
            let words = line.words
            if words.isEmpty || words[0].begins(with: "#") { continue }
            let fault = { (reason: String) in
                Unusable(exitCode: EX_DATAERR, reason: "line \(index + 1) of \(path) \(reason)")
            }
            guard words.count == 2 else { throw fault("has not a name and a key, with a space between them") }
            guard words[0].utf8.count <= 64,
                words[0].utf8.allSatisfy({ $0.isASCIIAlphanumeric || "._-".utf8.contains($0) })
            else { throw fault("has a name with other characters than letters, digits and ._-, or a long one") }
            guard (leastLength...longestKey).contains(words[1].utf8.count),
                words[1].utf8.allSatisfy({ (0x21...0x7E).contains($0) })
            else { throw fault("has a key that has not \(leastLength) to \(longestKey) ASCII characters") }
            let digest = SHA256Digest(of: String(words[1]))
            guard services[digest] == nil else { throw fault("has the key of another line") }
            services[digest] = String(words[0])
        }
        return services
    }
}

/// Tells whether a file has changed.
private struct FileVersion: Equatable {
    let isRegular: Bool
    let device: dev_t
    let inode: ino_t
    let size: off_t
    let seconds: Int
    let nanoseconds: Int

    /// - Returns: `nil` if there is no file.
    init?(of path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        isRegular = status.st_mode & S_IFMT == S_IFREG
        (device, inode, size) = (status.st_dev, status.st_ino, status.st_size)
        (seconds, nanoseconds) = (status.st_mtim.tv_sec, status.st_mtim.tv_nsec)
    }
}
