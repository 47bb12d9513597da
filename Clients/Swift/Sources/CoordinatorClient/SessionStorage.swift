public import Foundation
import Synchronization

#if canImport(Security)
import Security
#endif

/// Where a client keeps its session between two starts of the app: a few hundred bytes, which contain the token.
///
/// `save` returns when the bytes are safe: it is called before an event is sent, so that the app can find out after a
/// crash whether that was carried out.
public protocol SessionStorage: Sendable {
    /// What was saved last; `nil` if there is nothing.
    func load() throws -> Data?
    /// - Parameter data: `nil` removes what was saved.
    func save(_ data: Data?) throws
}

/// A file that only its owner can read.
public struct FileStorage: SessionStorage {
    private let file: URL

    /// - Parameter file: its folder is made when the session is saved.
    public init(_ file: URL) { self.file = file }

    /// Another process has this file: one storage has one session, and one process.
    public struct InUse: Error, LocalizedError, CustomStringConvertible {
        public let file: URL
        public var description: String {
            "\(file.path) is in use by another process. A session that is open needs a storage of its own."
        }
        public var errorDescription: String? { description }
    }

    public func load() throws -> Data? {
        guard FileManager.default.fileExists(atPath: file.path) else { return nil }
        try lock()
        return try Data(contentsOf: file)
    }

    public func save(_ data: Data?) throws {
        let files = FileManager.default
        if data != nil {
            try files.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try lock()
        }
        guard let data else {
            if files.fileExists(atPath: file.path) { try files.removeItem(at: file) }
            return
        }
        // Written beside it and renamed, with its permissions from the beginning: a crash leaves the old file or the new.
        let new = file.appendingPathExtension("new")
        if files.fileExists(atPath: new.path) { try files.removeItem(at: new) }
        guard files.createFile(atPath: new.path, contents: nil, attributes: [.posixPermissions: 0o600]) else {
            throw CocoaError(.fileWriteUnknown)
        }
        let handle = try FileHandle(forWritingTo: new)
        defer { try? handle.close() }
        try handle.write(contentsOf: data)
        try handle.synchronize()
        guard rename(new.path, file.path) == 0 else { throw CocoaError(.fileWriteUnknown) }
    }
}

extension FileStorage {
    /// The locks that this process has: until it ends, since closing the file would give them up.
    private static let locks = Mutex<Set<String>>([])

    /// Takes the file for this process, by a lock on an empty file beside it.
    private func lock() throws {
        let path = file.standardizedFileURL.path + ".lock"
        try FileStorage.locks.withLock { locks in
            guard !locks.contains(path) || !FileManager.default.fileExists(atPath: path) else { return }
            let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw CocoaError(.fileWriteUnknown) }
            guard lockf(descriptor, F_TLOCK, 0) == 0 else {
                close(descriptor)
                throw InUse(file: file)
            }
            locks.insert(path)
        }
    }
}

/// Nothing that outlives the process, for trials and tests.
public struct NoStorage: SessionStorage {
    public init() {}
    public func load() throws -> Data? { nil }
    public func save(_ data: Data?) throws {}
}

#if canImport(Security)
/// An item of the keychain, on Apple's platforms. It stays on the device, and can be read after the first unlock.
public struct KeychainStorage: SessionStorage {
    private let service: String
    private let account: String

    /// - Parameters:
    ///   - service: names your app, such as its bundle identifier.
    ///   - account: distinguishes sessions of one app.
    public init(service: String, account: String = "session") {
        self.service = service
        self.account = account
    }

    /// Why the keychain refused; `SecCopyErrorMessageString` has words for it.
    public struct Failure: Error { public let status: OSStatus }

    private var item: [CFString: Any] {
        [kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecAttrAccount: account]
    }

    public func load() throws -> Data? {
        var found: CFTypeRef?
        let query = item.merging([kSecReturnData: true, kSecMatchLimit: kSecMatchLimitOne]) { $1 }
        let status = SecItemCopyMatching(query as CFDictionary, &found)
        if status == errSecItemNotFound { return nil }
        guard status == errSecSuccess else { throw Failure(status: status) }
        return found as? Data
    }

    public func save(_ data: Data?) throws {
        guard let data else {
            let status = SecItemDelete(item as CFDictionary)
            guard status == errSecSuccess || status == errSecItemNotFound else { throw Failure(status: status) }
            return
        }
        let values: [CFString: Any] = [
            kSecValueData: data, kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
        ]
        var status = SecItemUpdate(item as CFDictionary, values as CFDictionary)
        if status == errSecItemNotFound { status = SecItemAdd(item.merging(values) { $1 } as CFDictionary, nil) }
        guard status == errSecSuccess else { throw Failure(status: status) }
    }
}
#endif
