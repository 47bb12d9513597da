internal import FoundationEssentials

/// A file of `/proc` or `/sys`.
enum SystemFile {
    static func text(_ path: String) -> String? {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
    }
}
