internal import ArgumentParser
internal import Dispatch
internal import FoundationEssentials
internal import Glibc

/// A file that is created whole or not at all: it is written in a directory beside its place. That directory is removed
/// when the work is done, has failed, or is interrupted.
struct NewFile {
    private let path: String
    private let directory: String

    /// - Parameter write: writes the file, at the path that it is given.
    /// - Throws: an exit code, after printing to standard error why the file cannot be placed; what `write` throws.
    static func make(_ path: String, _ write: (String) throws -> Void) throws {
        let file = try NewFile(path)
        defer { file.removeDirectory() }
        let interruptions = file.removeWhenInterrupted()
        defer { for source in interruptions { source.cancel() } }
        let draft = "\(file.directory)/\(URL(filePath: path).lastPathComponent)"
        try write(draft)
        try file.place(draft)
    }

    private init(_ path: String) throws {
        guard access(path, F_OK) != 0 else { throw NewFile.impossible(path, EEXIST) }
        var template = Array("\(path).XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw NewFile.impossible(path, errno) }
        self.path = path
        self.directory = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    private func place(_ draft: String) throws {
        // A hard link: a rename would replace a file created there meanwhile. Not all file systems have hard links.
        guard link(draft, path) == 0 || ([EPERM, EOPNOTSUPP].contains(errno) && rename(draft, path) == 0) else {
            throw NewFile.impossible(path, errno)
        }
        // The file's name must survive a power loss, as the file does.
        let parent = open(URL(filePath: path).deletingLastPathComponent().path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard parent >= 0 else { throw NewFile.impossible(path, errno) }
        defer { close(parent) }
        guard fsync(parent) == 0 else { throw NewFile.impossible(path, errno) }
    }

    private func removeWhenInterrupted() -> [any DispatchSourceSignal] {
        let queue = DispatchQueue(label: "coordinatord.interruptions")
        return [SIGINT, SIGTERM, SIGHUP].filter { !StopSignals.isIgnored($0) }.map { number in
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler {
                removeDirectory()
                _exit(128 + number)
            }
            source.activate()
            return source
        }
    }

    private func removeDirectory() {
        try? FileManager.default.removeItem(atPath: directory)
    }

    private static func impossible(_ path: String, _ code: CInt) -> ExitCode {
        .cannotStart(EX_CANTCREAT, "\(path) cannot be made: \(String(cString: strerror(code)).lowercased())")
    }
}
