internal import ByteText
internal import FoundationEssentials
internal import Glibc
internal import MicroHTTP

/// The file to which a running server writes its address. `health` reads it, so it finds the server whatever the
/// server's flags are. The environment names the file; without that variable there is none.
struct AddressFile {
    static let variable = "COORDINATORD_ADDRESS_FILE"

    let path: String

    init?() {
        guard let path = ProcessInfo.processInfo.environment[AddressFile.variable], !path.isEmpty else { return nil }
        self.path = path
    }

    /// Names the variable, the path and the cause.
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    func write(_ address: HTTPAuthority) throws(Failure) {
        // Renamed, so that nobody reads half of it.
        let draft = "\(path).\(getpid())"
        let text = "\(address.host) \(address.port)\n"
        // Left by a process of the same number that was killed, or by somebody else.
        unlink(draft)
        let file = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        defer { if file >= 0 { close(file) } }
        guard file >= 0, Glibc.write(file, text, text.utf8.count) == text.utf8.count, rename(draft, path) == 0 else {
            let cause = AddressFile.systemError
            unlink(draft)
            throw failure("cannot be written", cause)
        }
    }

    func read() throws(Failure) -> HTTPAuthority {
        guard access(path, R_OK) == 0, let bytes = FileManager.default.contents(atPath: path) else {
            let remark = errno == ENOENT ? ": the server is not running" : ""
            throw failure("cannot be read", AddressFile.systemError + remark)
        }
        let words = String(decoding: bytes, as: UTF8.self).words
        guard words.count == 2, let port = Int(words[1]), (1...65_535).contains(port) else {
            throw failure("cannot be read", "it contains no address")
        }
        return HTTPAuthority(host: String(words[0]), port: port)
    }

    private static var systemError: String { String(cString: strerror(errno)).lowercased() }

    private func failure(_ what: String, _ cause: String) -> Failure {
        Failure(description: "\(AddressFile.variable)=\(path) \(what) (\(cause))")
    }

    /// Removes the file, unless another server has written it meanwhile.
    func remove(_ address: HTTPAuthority) {
        if (try? read()) == address { try? FileManager.default.removeItem(atPath: path) }
    }
}
