internal import ArgumentParser
internal import ByteText
internal import Glibc
internal import Logging
internal import MicroHTTP
internal import NavigationAPI
internal import Synchronization

/// Keys in a file that is read again when it changes. So keys are replaced without a restart: the new one is added, then
/// used, then the old one is removed.
final class KeyFile: NamedKeys {
    /// Whose keys a file has, and how they are written: a name and a key in each line.
    struct Form {
        /// The setting that names the file.
        let flag: String
        /// What the log calls a key.
        let noun: String
        /// How long a key may be, in characters. The head of a request must have room for it.
        let lengths: ClosedRange<Int>
        /// The name of a key that stands alone in its line; `nil` if each has to have a name.
        let commonName: String?

        /// Of the systems that may send signals; there may be none.
        static let services = Form(
            flag: "--service-key-file", noun: "key", lengths: 32...512, commonName: nil)
        /// Of those who may use the console's part for operators, of whom there is at least one.
        static let operators = Form(
            flag: "--console-token-file", noun: "token", lengths: 16...512, commonName: "operator")
    }

    private let path: String
    private let form: Form
    private let logger: Logger
    private let keys: Mutex<KeyTable>

    /// - Throws: an exit code, after printing the reason to standard error.
    init(_ path: String, _ form: Form, _ logger: Logger) throws {
        (self.path, self.form, self.logger) = (path, form, logger)
        do throws(UnusableFile) {
            keys = Mutex(try form.keys(in: path))
        } catch {
            throw ExitCode.cannotStart(error.exitCode, "\(form.flag): \(error.reason)")
        }
    }

    func name(ofKey key: String) -> String? { keys.withLock { $0 }.name(ofKey: key) }

    /// Reads the file each second, until the task is cancelled: its size and times do not tell for certain whether it has
    /// changed, nor whether it may be read again. While it cannot be used, the keys stay as they were.
    func follow() async {
        // What a pipe had has been read.
        guard !KeyFile.isPipe(path) else { return }
        var seen = Result<KeyTable, UnusableFile>.success(keys.withLock { $0 })
        while !Task.isCancelled {
            try? await Task.sleep(for: .seconds(1))
            let content = Result { () throws(UnusableFile) in
                // Waiting for a pipe would hold up others.
                if KeyFile.isPipe(path) { throw UnusableFile(reason: "\(path) is no file") }
                return try form.keys(in: path)
            }
            guard content != seen else { continue }
            seen = content
            switch content {
            case .success(let new):
                let old = keys.withLock { keys in
                    defer { keys = new }
                    return keys
                }
                logger.info("\(path) has changed: \(form.description(of: new, insteadOf: old))")
            case .failure(let error):
                logger.error("\(form.flag): \(error.reason); the keys stay as they were")
            }
        }
    }

    /// Whether what has that path is no file, and may have to be waited for.
    private static func isPipe(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT != S_IFREG
    }
}

extension KeyFile.Form {
    /// Says how many keys there are, and whose have come or gone.
    fileprivate func description(of new: KeyTable, insteadOf old: KeyTable) -> String {
        var text = "it has \(new.count) \(noun)\(new.count == 1 ? "" : "s") now"
        for (change, names) in [("added", new.names(missingIn: old)), ("removed", old.names(missingIn: new))]
        where !names.isEmpty {
            text += "; \(change): \(names.joined(separator: ", "))"
        }
        return text
    }

    fileprivate func keys(in path: String) throws(UnusableFile) -> KeyTable {
        try keys(from: String(decoding: try SmallFile.bytes(of: path), as: UTF8.self), of: path)
    }

    /// - Parameter place: where the text comes from, for errors.
    func keys(from text: String, of place: String) throws(UnusableFile) -> KeyTable {
        var keys = KeyTable()
        for (index, line) in text.parts(at: "\n").enumerated() {
            var words = line.words
            if words.isEmpty || words[0].begins(with: "#") { continue }
            let fault = { (reason: String) in
                UnusableFile(exitCode: EX_DATAERR, reason: "line \(index + 1) of \(place) \(reason)")
            }
            if words.count == 1, let commonName { words.insert(commonName[...], at: 0) }
            guard words.count == 2 else {
                let alone = commonName == nil ? "" : " a key alone, nor"
                throw fault("has not\(alone) a name and a key, with a space between them")
            }
            guard words[0].utf8.count <= 64,
                words[0].utf8.allSatisfy({ $0.isASCIIAlphanumeric || "._-".utf8.contains($0) })
            else { throw fault("has a name with other characters than letters, digits and ._-, or a long one") }
            guard lengths.contains(words[1].utf8.count), words[1].utf8.allSatisfy({ (0x21...0x7E).contains($0) })
            else {
                throw fault("has a key that has not \(lengths.lowerBound) to \(lengths.upperBound) ASCII characters")
            }
            guard keys.add(String(words[1]), of: String(words[0])) else { throw fault("has the key of another line") }
        }
        // Without one nobody could use the console; most likely the file is only half written.
        if commonName != nil, keys.count == 0 {
            throw UnusableFile(exitCode: EX_DATAERR, reason: "\(place) has no key")
        }
        return keys
    }
}
