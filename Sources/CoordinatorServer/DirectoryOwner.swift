internal import ArgumentParser
internal import Glibc

/// Root works in a service's directory as the user that owns it. Whoever may write there can plant links, and through one
/// root would read, replace or give away any file of the machine.
///
/// Only for commands: a server has one user from its start to its end.
package enum DirectoryOwner {
    /// Does the work as the owner of a directory, or of the one that it would be made in.
    ///
    /// - Throws: an exit code, after printing to standard error why that is impossible; what the work throws.
    package static func act<Value>(in directory: String, _ work: () throws -> Value) throws -> Value {
        guard let owner = User(owning: directory) else { return try work() }
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
        if let owner = User(owning: directory) { try become(owner, in: directory) }
    }

    private static func become(_ owner: User, in directory: String) throws {
        guard owner.take() else {
            let reason = String(cString: strerror(errno)).lowercased()
            throw ExitCode.cannotStart(
                EX_NOPERM,
                "\(directory) belongs to user \(owner.id), and this process cannot act as that user: \(reason)")
        }
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

    /// - Returns: `nil` if this process is not root's, or the directory is.
    init?(owning directory: String) {
        var info = stat()
        guard geteuid() == 0 else { return nil }
        let place = access(directory, F_OK) == 0 ? directory : Directory.parent(of: directory) ?? "."
        guard stat(place, &info) == 0, info.st_uid != 0 else { return nil }
        self.init(id: info.st_uid, group: info.st_gid, otherGroups: [])
    }

    /// Gives the process these rights, and keeps root as the user to go back to.
    func take() -> Bool {
        (geteuid() == 0 || seteuid(0) == 0) && setgroups(otherGroups.count, otherGroups) == 0 && setegid(group) == 0
            && seteuid(id) == 0
    }
}
