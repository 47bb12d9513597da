internal import FoundationEssentials
internal import MicroHTTP

/// The file in which a running server says where it listens, for `health`, which finds it there whatever the server's
/// flags are. The environment names the file; where it does not, there is none.
struct AddressFile {
    static let variable = "COORDINATORD_ADDRESS_FILE"

    let path: String

    init?() {
        guard let path = ProcessInfo.processInfo.environment[AddressFile.variable], !path.isEmpty else { return nil }
        self.path = path
    }

    func write(_ address: HTTPAuthority) throws {
        try Data("\(address.host) \(address.port)\n".utf8).write(to: URL(filePath: path), options: .atomic)
    }

    /// - Returns: `nil` where no server has said it.
    func read() -> HTTPAuthority? {
        guard let bytes = try? Data(contentsOf: URL(filePath: path)) else { return nil }
        let words = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        guard words.count == 2, let port = Int(words[1]), (1...65_535).contains(port) else { return nil }
        return HTTPAuthority(host: String(words[0]), port: port)
    }

    /// Removes it, unless another server has written it meanwhile.
    func remove(_ address: HTTPAuthority) {
        if read() == address { try? FileManager.default.removeItem(atPath: path) }
    }
}
