internal import ArgumentParser
internal import ByteText
internal import FoundationEssentials
internal import Glibc

/// Root works in a service's directory as the user that owns it. Whoever may write there, or decides where a path leads,
/// can plant links, and through one root would read, replace or give away any file of the machine.
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
        // Nothing must go on as somebody else than it believes to be.
        defer { if !root.take() { abort() } }
        return try work()
    }

    /// Is the owner from now on.
    ///
    /// - Throws: an exit code, after printing to standard error why that is impossible.
    package static func become(in directory: String) throws {
        if let owner = try owner(of: directory) { try become(owner, in: directory) }
    }

    private static func become(_ owner: User, in directory: String) throws {
        guard owner.take() else {
            let reason = String(cString: strerror(errno)).lowercased()
            throw ExitCode.cannotStart(
                EX_NOPERM,
                "\(directory) belongs to user \(owner.id), and this process cannot act as that user: \(reason)")
        }
    }

    /// The first user but root on the way to a directory: who owns a part of the path, a link or the directory itself.
    ///
    /// - Returns: `nil` if there is none, or this process is not root's.
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
            // What is missing will be made by root, in a directory of root's.
            guard lstat(next, &info) == 0 else { return nil }
            if info.st_uid != 0 {
                try checkFiles(in: directory, ownedByRoot: false)
                return User(owning: info)
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

    /// Opening what is no file could wait forever.
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

/// Whose rights a process has.
private struct User {
    let id: uid_t
    let group: gid_t
    let otherGroups: [gid_t]

    static var current: User {
        var groups = [gid_t](repeating: 0, count: Int(max(0, getgroups(0, nil))))
        let count = getgroups(CInt(groups.count), &groups)
        return User(id: geteuid(), group: getegid(), otherGroups: Array(groups.prefix(Int(max(0, count)))))
    }

    private init(id: uid_t, group: gid_t, otherGroups: [gid_t]) {
        (self.id, self.group, self.otherGroups) = (id, group, otherGroups)
    }

    init(owning file: stat) {
        self.init(id: file.st_uid, group: file.st_gid, otherGroups: [])
    }

    /// Gives the process these rights, and keeps root as the user to go back to.
    func take() -> Bool {
        (geteuid() == 0 || seteuid(0) == 0) && setgroups(otherGroups.count, otherGroups) == 0 && setegid(group) == 0
            && seteuid(id) == 0
    }
}

extension stat {
    fileprivate var isWritableByOthers: Bool {
        st_mode & S_IWOTH != 0 || st_mode & S_IWGRP != 0 && st_gid != 0
    }
}
