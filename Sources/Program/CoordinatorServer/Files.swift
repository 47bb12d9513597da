internal import ArgumentParser
internal import ByteText
internal import Dispatch
internal import FoundationEssentials
internal import Glibc
internal import Measures
internal import MicroHTTP
internal import Synchronization

/// Who uses a directory that the command line names. Decides the advice if the process has no right to the directory.
enum DirectoryUser {
    /// A server, which has a user of its own.
    case server
    /// A command, which works on what a server's user owns.
    case command
}

/// A directory that the command line names.
struct Directory {
    let path: String

    /// Why this process cannot work in the directory, or make it, and what to do about it; `nil` if it can.
    ///
    /// - Parameters:
    ///   - option: the option that names another directory.
    ///   - user: who cannot work in it.
    func fault(option: String, for user: DirectoryUser) -> String? {
        var place = path
        var isHidden = false
        // A missing directory is made in the nearest one above it that exists. A directory that cannot be searched
        // hides those below it.
        while access(place, F_OK) != 0, errno == ENOENT || errno == EACCES, let parent = Directory.parent(of: place) {
            isHidden = isHidden || errno == EACCES
            place = parent
        }
        guard let fault = Directory.fault(of: place) ?? (place == path ? faultOfFile : nil) else { return nil }

        let (id, group) = (geteuid(), getegid())
        var remedy = "name another directory with \(option)"
        if fault.code == EACCES {
            let way =
                if user == .command, let owner = Directory.owner(of: place), owner != id {
                    "run this command as the user that owns \(place) (\(Directory.name(of: owner)))"
                } else if isHidden {
                    "let that user enter \(place) (chmod a+x \(place))"
                } else if place != path {
                    "make it for that user (install -d -o \(id) -g \(group) \(path))"
                } else if Directory.owner(of: fault.path) == id {
                    "permit that user to read and write (chmod u+rwX \(fault.path))"
                } else {
                    "give it to that user (chown -R \(id):\(group) \(path))"
                }
            remedy = "\(way), or \(remedy)"
        }
        let reason = "\(fault.path): \(String.systemError(fault.code))"
        return "\(path) cannot be used by user \(id), group \(group): \(reason); \(remedy)"
    }

    private static func owner(of path: String) -> uid_t? {
        var info = stat()
        return stat(path, &info) == 0 ? info.st_uid : nil
    }

    private static func name(of user: uid_t) -> String {
        getpwuid(user).map { String(cString: $0.pointee.pw_name) } ?? "\(user)"
    }

    static func parent(of path: String) -> String? {
        guard let (parent, _) = path.cut(atLast: "/") else { return path == "." ? nil : "." }
        if parent.isEmpty { return path == "/" ? nil : "/" }
        return String(parent)
    }

    /// Why the process cannot work in a directory; `nil` if it can. With the slash, `access` fails if the path is not a
    /// directory.
    private static func fault(of path: String) -> (path: String, code: CInt)? {
        access("\(path)/", R_OK | W_OK | X_OK) == 0 ? nil : (path, errno)
    }

    /// The fault of a file in the directory that another user has made, for example with an earlier server.
    private var faultOfFile: (path: String, code: CInt)? {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        let files = names.sorted().lazy.map { "\(path)/\($0)" }
        return files.first { (file: String) in access(file, R_OK | W_OK) != 0 && errno == EACCES }.map { ($0, EACCES) }
    }
}

/// Makes root work in a service's directory as the user that owns it. A user who can write there, or who controls a
/// part of its path, can plant links, and through a link root would read, replace or give away any file of the machine.
///
/// Only for commands: a server has one user from its start to its end.
package enum DirectoryOwner {
    /// Does the work as the owner of a directory, or of the one that it would be made in.
    ///
    /// - Throws: an exit code, after printing to standard error why that is impossible; what the work throws.
    package static func act<Value>(in directory: String, _ work: () throws -> Value) throws -> Value {
        guard let owner = try owner(of: directory) else { return try work() }
        let root = User.current
        try become(owner, in: directory)
        // The process must never go on with the rights of the wrong user.
        defer { if !root.assume() { abort() } }
        return try work()
    }

    /// Makes the process act as the owner from now on.
    ///
    /// - Throws: an exit code, after printing to standard error why that is impossible.
    package static func become(in directory: String) throws {
        if let owner = try owner(of: directory) { try become(owner, in: directory) }
    }

    private static func become(_ owner: User, in directory: String) throws {
        guard owner.assume() else {
            let reason = String.systemError()
            throw ExitCode.cannotStart(
                EX_NOPERM,
                "\(directory) belongs to user \(owner.id), and this process cannot act as that user: \(reason)")
        }
    }

    /// The first user other than root who owns a component of a directory's path: a directory, a link, or the directory
    /// itself.
    ///
    /// - Returns: `nil` if there is none, or if this process is not root's.
    /// - Throws: an exit code, if others may write where root would have to trust what it finds.
    private static func owner(of directory: String) throws -> User? {
        guard geteuid() == 0 else { return nil }
        var (place, rest, links) = ("", parts(of: directory), 0)
        if !directory.begins(with: "/") { rest = parts(of: FileManager.default.currentDirectoryPath) + rest }
        while let name = rest.first {
            rest.removeFirst()
            if name == ".." {
                place = place.cut(atLast: "/").map { String($0.before) } ?? ""
                continue
            }
            let next = "\(place)/\(name)"
            var info = stat()
            // Root will make what is missing, in a directory that root owns.
            guard lstat(next, &info) == 0 else { return nil }
            if info.st_uid != 0 {
                try checkFiles(in: directory, ownedByRoot: false)
                return User(id: info.st_uid, group: info.st_gid, otherGroups: [])
            }
            if info.st_mode & S_IFMT == S_IFLNK {
                links += 1
                guard links <= 40, let target = try? FileManager.default.destinationOfSymbolicLink(atPath: next) else {
                    return nil
                }
                if target.begins(with: "/") { place = "" }
                rest = parts(of: target) + rest
                continue
            }
            if info.isWritableByOthers {
                if rest.isEmpty { try checkFiles(in: next, ownedByRoot: true) }
                guard rest.isEmpty || info.st_mode & S_ISVTX != 0 else {
                    throw refusal(next, "may be replaced by others")
                }
            }
            place = next
        }
        return nil
    }

    private static func parts(of path: String) -> [Substring] {
        path.parts(at: "/").filter { !["", "."].contains($0) }
    }

    /// Checks what is in a directory, before root opens anything there.
    ///
    /// - Throws: an exit code, if an entry is neither a file, a directory nor a link, because opening it could block
    ///   forever; with `ownedByRoot`, also if another user may have put it there.
    private static func checkFiles(in directory: String, ownedByRoot: Bool) throws {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [] {
            var info = stat()
            let path = "\(directory)/\(name)"
            guard lstat(path, &info) == 0 else { continue }
            let type = info.st_mode & S_IFMT
            guard [S_IFREG, S_IFDIR, S_IFLNK].contains(type) else { throw refusal(path, "is no file") }
            guard ownedByRoot else { continue }
            guard info.st_uid == 0, type != S_IFLNK, type == S_IFDIR || info.st_nlink == 1 else {
                throw refusal(
                    path, "may have been put there by somebody else than root, who may write to the directory")
            }
        }
    }

    private static func refusal(_ path: String, _ reason: String) -> ExitCode {
        .cannotStart(EX_NOPERM, "\(path) \(reason): run this command as the user that the directory is for")
    }
}

/// A user whose rights a process can have.
private struct User {
    let id: uid_t
    let group: gid_t
    let otherGroups: [gid_t]

    static var current: User {
        var groups = [gid_t](repeating: 0, count: Int(max(0, getgroups(0, nil))))
        let count = getgroups(CInt(groups.count), &groups)
        return User(id: geteuid(), group: getegid(), otherGroups: Array(groups.prefix(Int(max(0, count)))))
    }

    /// Gives the process these rights, and keeps root as the user to go back to.
    ///
    /// - Returns: whether the system permits it.
    func assume() -> Bool {
        (geteuid() == 0 || seteuid(0) == 0) && setgroups(otherGroups.count, otherGroups) == 0 && setegid(group) == 0
            && seteuid(id) == 0
    }
}

extension stat {
    fileprivate var isWritableByOthers: Bool {
        st_mode & S_IWOTH != 0 || st_mode & S_IWGRP != 0 && st_gid != 0
    }
}

/// A file that is created whole or not at all: it is written in a directory beside its place. That directory is removed
/// when the work is done, has failed, or is interrupted.
package final class NewFile: Sendable {
    private let path: String
    private let isReplacing: Bool
    private let draftDirectory: String?
    /// The directory that the file is written in; `nil` while there is none.
    private let directory = Mutex<String?>(nil)

    private init(_ path: String, _ isReplacing: Bool, _ draftDirectory: String?) {
        self.path = path
        self.isReplacing = isReplacing
        self.draftDirectory = draftDirectory
    }

    /// - Parameters:
    ///   - isReplacing: whether a file of this name is replaced, instead of being an error.
    ///   - draftDirectory: the directory to write it in, which must not exist; `nil` for a new name beside the file.
    ///   - write: writes and checks the file, at the path that it is given.
    /// - Returns: what `write` returns.
    /// - Throws: an exit code, after printing to standard error why the file cannot be placed; what `write` throws.
    package static func make<Value>(
        _ path: String, replacing isReplacing: Bool = false, in draftDirectory: String? = nil,
        _ write: (String) throws -> Value
    ) throws -> Value {
        let file = NewFile(path, isReplacing, draftDirectory)
        let interruptions = file.removeWhenInterrupted()
        defer { for source in interruptions { source.cancel() } }
        let draft = "\(try file.makeDirectory())/\(URL(filePath: path).lastPathComponent)"
        defer { file.directory.withLock { NewFile.remove(&$0) } }
        let value = try write(draft)
        try file.place(draft)
        return value
    }

    private func makeDirectory() throws -> String {
        guard isReplacing || access(path, F_OK) != 0 else { throw NewFile.cannotCreate(path, EEXIST) }
        var template = Array((draftDirectory ?? "\(path).XXXXXX").utf8CString)
        return try directory.withLock { directory in
            let isMade = draftDirectory != nil ? mkdir(template, 0o700) == 0 : mkdtemp(&template) != nil
            guard isMade else { throw NewFile.cannotCreate(path, errno) }
            let made = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
            directory = made
            return made
        }
    }

    private static func remove(_ directory: inout String?) {
        guard let made = directory else { return }
        directory = nil
        // The interrupted work may be creating another file in it.
        for _ in 0..<100 {
            try? FileManager.default.removeItem(atPath: made)
            if access(made, F_OK) != 0 { return }
            usleep(1000)
        }
    }

    private func place(_ draft: String) throws {
        let parent = open(URL(filePath: path).deletingLastPathComponent().path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard parent >= 0 else { throw NewFile.cannotCreate(path, errno) }
        defer { close(parent) }
        guard isReplacing ? rename(draft, path) == 0 : placeAsNew(draft) else {
            throw NewFile.cannotCreate(path, errno)
        }
        // The file's name must survive a power loss, as the file does.
        guard fsync(parent) == 0 else {
            let failure = NewFile.cannotCreate(path, errno)
            if !isReplacing { unlink(path) }
            throw failure
        }
    }

    /// Gives the draft its final name, which must be free.
    private func placeAsNew(_ draft: String) -> Bool {
        // A hard link: a rename would replace a file created there meanwhile. Not all file systems have hard links.
        link(draft, path) == 0 || ([EPERM, EOPNOTSUPP].contains(errno) && rename(draft, path) == 0)
    }

    /// Makes signals remove the directory and then end the process. When this returns, they no longer end it by
    /// themselves.
    private func removeWhenInterrupted() -> [any DispatchSourceSignal] {
        let queue = DispatchQueue(label: "coordinatord.interruptions")
        return [SIGINT, SIGTERM, SIGHUP, SIGQUIT].filter { !StopSignals.isIgnored($0) }.map { number in
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler { [self] in
                directory.withLock { directory in
                    NewFile.remove(&directory)
                    _exit(128 + number)
                }
            }
            let isRegistered = DispatchSemaphore(value: 0)
            source.setRegistrationHandler { isRegistered.signal() }
            source.activate()
            isRegistered.wait()
            return source
        }
    }

    private static func cannotCreate(_ path: String, _ code: CInt) -> ExitCode {
        let reason = "\(path) cannot be created: \(String.systemError(code))"
        return .cannotStart(EX_CANTCREAT, code == EEXIST ? "\(path) exists already; name a new file" : reason)
    }
}

/// The file to which a running server writes its address, so that `health` finds the server whatever its flags are. An
/// environment variable names the file; without it there is none.
struct AddressFile {
    static let variable = "COORDINATORD_ADDRESS_FILE"

    let path: String

    init?() {
        guard let path = ProcessInfo.processInfo.environment[AddressFile.variable], !path.isEmpty else { return nil }
        self.path = path
    }

    func write(_ address: HTTPAuthority) throws(UnusableFile) {
        // Renamed when it is whole, so that `health` never reads half of it.
        let draft = "\(path).\(getpid())"
        let text = "\(address.host) \(address.port)\n"
        // It may be left from a killed process with the same id.
        unlink(draft)
        let file = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        defer { if file >= 0 { close(file) } }
        guard file >= 0, Glibc.write(file, text, text.utf8.count) == text.utf8.count, rename(draft, path) == 0 else {
            let cause = String.systemError()
            unlink(draft)
            throw failure("cannot be written", cause)
        }
    }

    func read() throws(UnusableFile) -> HTTPAuthority {
        guard access(path, R_OK) == 0, let bytes = FileManager.default.contents(atPath: path) else {
            let remark = errno == ENOENT ? ": the server is not running" : ""
            throw failure("cannot be read", String.systemError() + remark)
        }
        let words = String(decoding: bytes, as: UTF8.self).words
        guard words.count == 2, let port = Int(words[1]), (1...65_535).contains(port) else {
            throw failure("cannot be read", "it contains no address")
        }
        return HTTPAuthority(host: String(words[0]), port: port)
    }

    private func failure(_ what: String, _ cause: String) -> UnusableFile {
        UnusableFile(reason: "\(AddressFile.variable)=\(path) \(what) (\(cause))")
    }

    /// Removes the file, unless another server has written it meanwhile.
    func remove(_ address: HTTPAuthority) {
        if (try? read()) == address { try? FileManager.default.removeItem(atPath: path) }
    }
}

/// Why a file cannot be used.
struct UnusableFile: Error, Equatable {
    /// One of sysexits.h.
    var exitCode = EX_NOINPUT
    /// A sentence without its full stop, which names the file.
    let reason: String
}

/// Reads a file that a person has written: settings, a password, a token.
enum SmallFile {
    /// In bytes. All settings together take a few thousand.
    private static let sizeLimit = 64 << 10

    /// How long a pipe may be silent, in milliseconds.
    private static let maxSilence: CInt = 5000
    /// How long reading may take, in nanoseconds.
    private static let maxReadingTime = 60_000_000_000

    static func bytes(of path: String, upTo sizeLimit: Int = sizeLimit) throws(UnusableFile) -> [UInt8] {
        func failed() -> UnusableFile { UnusableFile(reason: "\(path) cannot be read: \(String.systemError())") }
        // Without O_NONBLOCK, opening a pipe would wait for a writer.
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { throw failed() }
        defer { close(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        let start = MonotonicTime.nanoseconds
        while bytes.count <= sizeLimit {
            guard MonotonicTime.nanoseconds - start < maxReadingTime else {
                throw UnusableFile(reason: "\(path) is a pipe that has not ended after a minute")
            }
            var wanted = pollfd(fd: file, events: Int16(POLLIN), revents: 0)
            guard poll(&wanted, 1, maxSilence) != 0 else {
                let seconds = maxSilence / 1000
                throw UnusableFile(reason: "\(path) is a pipe to which nobody has written for \(seconds) seconds")
            }
            let count = read(file, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw failed() }
            if count == 0 { return bytes }
            bytes += buffer[..<count]
        }
        throw UnusableFile(reason: "\(path) has more than \(ByteSize(sizeLimit))")
    }
}
