internal import ArgumentParser
internal import Dispatch
internal import FoundationEssentials
internal import Glibc
internal import Synchronization

/// A file that is created whole or not at all: it is written in a directory beside its place. That directory is removed
/// when the work is done, has failed, or is interrupted.
final class NewFile: Sendable {
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
    static func make<Value>(
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
        guard isReplacing || access(path, F_OK) != 0 else { throw NewFile.impossible(path, EEXIST) }
        var template = Array((draftDirectory ?? "\(path).XXXXXX").utf8CString)
        return try directory.withLock { directory in
            let isMade = draftDirectory != nil ? mkdir(template, 0o700) == 0 : mkdtemp(&template) != nil
            guard isMade else { throw NewFile.impossible(path, errno) }
            let made = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
            directory = made
            return made
        }
    }

    private static func remove(_ directory: inout String?) {
        guard let made = directory else { return }
        directory = nil
        // The work that is interrupted may just create another file in it.
        for _ in 0..<100 {
            try? FileManager.default.removeItem(atPath: made)
            if access(made, F_OK) != 0 { return }
            usleep(1000)
        }
    }

    private func place(_ draft: String) throws {
        let parent = open(URL(filePath: path).deletingLastPathComponent().path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard parent >= 0 else { throw NewFile.impossible(path, errno) }
        defer { close(parent) }
        guard isReplacing ? rename(draft, path) == 0 : isPlacedAsNew(draft) else {
            throw NewFile.impossible(path, errno)
        }
        // The file's name must survive a power loss, as the file does.
        guard fsync(parent) == 0 else {
            let failure = NewFile.impossible(path, errno)
            if !isReplacing { unlink(path) }
            throw failure
        }
    }

    private func isPlacedAsNew(_ draft: String) -> Bool {
        // A hard link: a rename would replace a file created there meanwhile. Not all file systems have hard links.
        link(draft, path) == 0 || ([EPERM, EOPNOTSUPP].contains(errno) && rename(draft, path) == 0)
    }

    /// When this returns, the signals no longer end the process by themselves.
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

    private static func impossible(_ path: String, _ code: CInt) -> ExitCode {
        let reason = "\(path) cannot be created: \(String(cString: strerror(code)).lowercased())"
        return .cannotStart(EX_CANTCREAT, code == EEXIST ? "\(path) exists already; name a new file" : reason)
    }
}
