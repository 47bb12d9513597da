internal import ByteText
internal import Glibc

/// The memory that this process may use: the machine's, or its control group's limit if that is less (cgroups(7)).
enum MachineMemory {
    /// In bytes.
    static var size: Int {
        let machine = sysconf(CInt(_SC_PHYS_PAGES)) * sysconf(CInt(_SC_PAGESIZE))
        return min(machine, groupLimit(root: ""))
    }

    /// The smallest limit of the process's control groups and those above them; `Int.max` if there is none.
    ///
    /// - Parameter root: where `/proc` and `/sys` are; empty except in tests.
    static func groupLimit(root: String) -> Int {
        var limit = Int.max
        // Each line is “number:controllers:path”; version 2 has the number 0 and no controllers (proc(5)).
        for line in (SystemFile.text("\(root)/proc/self/cgroup") ?? "").lines {
            let parts = line.parts(at: ":", limit: 3)
            guard parts.count == 3 else { continue }
            let isUnified = parts[0] == "0" && parts[1].isEmpty
            guard isUnified || parts[1].parts(at: ",").contains("memory") else { continue }
            let mount = "\(root)/sys/fs/cgroup" + (isUnified ? "" : "/memory")
            var path = parts[2]
            while true {
                // Inside a container the path may be the host's; then only the mount itself exists.
                let file = "\(mount)\(path)/\(isUnified ? "memory.max" : "memory.limit_in_bytes")"
                // Without a limit it is “max”, or a number that no machine has.
                if let number = SystemFile.text(file)?.lines.first.flatMap({ Int($0) }) {
                    limit = min(limit, number)
                }
                guard let (parent, _) = path.cut(atLast: "/") else { break }
                path = parent
            }
        }
        return limit
    }
}
