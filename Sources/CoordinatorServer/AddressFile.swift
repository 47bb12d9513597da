internal import FoundationEssentials
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

    func write(_ address: HTTPAuthority) throws {
        try Data("\(address.host) \(address.port)\n".utf8).write(to: URL(filePath: path), options: .atomic)
    }

    /// - Returns: `nil` if no server has written it.
    func read() -> HTTPAuthority? {
        guard let bytes = try? Data(contentsOf: URL(filePath: path)) else { return nil }
        let words = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        guard words.count == 2, let port = Int(words[1]), (1...65_535).contains(port) else { return nil }
        return HTTPAuthority(host: String(words[0]), port: port)
    }

    /// Removes the file, unless another server has written it meanwhile.
    func remove(_ address: HTTPAuthority) {
        if read() == address { try? FileManager.default.removeItem(atPath: path) }
    }
}
