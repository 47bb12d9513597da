internal import ByteText
internal import FoundationEssentials
internal import Glibc

/// Who uses a directory that the command line names, which decides what to do if the user has no right to it.
enum DirectoryUser {
    /// A server, which has a user of its own.
    case server
    /// A command, which works on what a server's user owns.
    case command
}

/// A directory that the command line names.
struct Directory {
    let path: String

    /// Why this process cannot work in the directory, or make it, and what to do about it; `nil` if it can.
    ///
    /// - Parameters:
    ///   - option: the option that names another directory.
    ///   - user: who cannot work in it.
    func fault(option: String, for user: DirectoryUser) -> String? {
        var place = path
        var isHidden = false
        // A missing directory has to be made in one that exists; one that cannot be seen is hidden by one above it.
        while access(place, F_OK) != 0, errno == ENOENT || errno == EACCES, let parent = Directory.parent(of: place) {
            isHidden = isHidden || errno == EACCES
            place = parent
        }
        guard let fault = Directory.fault(of: place) ?? (place == path ? faultOfFile : nil) else { return nil }

        let (id, group) = (geteuid(), getegid())
        var remedy = "name another directory with \(option)"
        if fault.code == EACCES {
            let way =
                if user == .command, let owner = Directory.owner(of: place), owner != id {
                    "run this command as the user that owns \(place) (\(Directory.name(of: owner)))"
                } else if isHidden {
                    "let that user enter \(place) (chmod a+x \(place))"
                } else if place != path {
                    "make it for that user (install -d -o \(id) -g \(group) \(path))"
                } else if Directory.owner(of: fault.path) == id {
                    "permit that user to read and write (chmod u+rwX \(fault.path))"
                } else {
                    "give it to that user (chown -R \(id):\(group) \(path))"
                }
            remedy = "\(way), or \(remedy)"
        }
        let reason = String(cString: strerror(fault.code)).lowercased()
        return "\(path) cannot be used by user \(id), group \(group): \(fault.path): \(reason); \(remedy)"
    }

    private static func owner(of path: String) -> uid_t? {
        var info = stat()
        return stat(path, &info) == 0 ? info.st_uid : nil
    }

    private static func name(of user: uid_t) -> String {
        getpwuid(user).map { String(cString: $0.pointee.pw_name) } ?? "\(user)"
    }

    static func parent(of path: String) -> String? {
        guard let (parent, _) = path.cut(atLast: "/") else { return path == "." ? nil : "." }
        if parent.isEmpty { return path == "/" ? nil : "/" }
        return String(parent)
    }

    /// With the slash, `access` fails if the path is not a directory.
    private static func fault(of path: String) -> (path: String, code: CInt)? {
        access("\(path)/", R_OK | W_OK | X_OK) == 0 ? nil : (path, errno)
    }

    /// The fault of a file in the directory that another user has made, for example with an earlier server.
    private var faultOfFile: (path: String, code: CInt)? {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        let files = names.sorted().lazy.map { "\(path)/\($0)" }
        return files.first { (file: String) in access(file, R_OK | W_OK) != 0 && errno == EACCES }.map { ($0, EACCES) }
    }
}
