internal import ByteText
internal import Glibc
internal import Sodium

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

/// The program that runs.
enum ProgramFile {
    /// Identifies the program by its bytes: another build has another number, the same build has the same one on every
    /// machine. 0 if it cannot be read.
    static let build: Int = {
        guard let file = fopen("/proc/self/exe", "r") else { return 0 }
        defer { fclose(file) }
        var sum: UInt64 = 0
        var block = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = fread(&block, 1, block.count, file)
            guard count > 0 else { break }
            sum = (sum << 1 | sum >> 63) ^ Checksum.of(count == block.count ? block : Array(block[..<count]))
        }
        return Int(UInt32(truncatingIfNeeded: sum ^ sum >> 32) | 1)
    }()
}

#if JEMALLOC
internal import CJemalloc
#endif

/// The process's memory allocator: jemalloc in a build that links it, otherwise the system's.
///
/// A request's memory is often allocated on one thread and freed on another, the store's writer: in this case glibc's
/// allocator takes locks, which costs a sixth of the server's speed.
enum Allocator {
    /// Lets a thread of the allocator return memory to the system that was unused for some seconds. Otherwise this
    /// happens only during further allocations, so an idle server would stay as large as it ever was.
    static func releaseMemoryInBackground() {
        #if JEMALLOC
        var isOn = true
        mallctl("background_thread", nil, nil, &isOn, MemoryLayout<Bool>.size)
        #endif
    }

    /// Its own figures, by jemalloc's names for them (jemalloc(3), `stats.`); none with another allocator.
    static var figures: [(name: String, bytes: Int)] {
        #if JEMALLOC
        // Writing the epoch refreshes the figures.
        var epoch: UInt64 = 1
        mallctl("epoch", nil, nil, &epoch, MemoryLayout<UInt64>.size)
        return ["allocated", "active", "resident", "mapped", "retained", "metadata"].compactMap { name in
            var bytes = 0
            var size = MemoryLayout<Int>.size
            return mallctl("stats.\(name)", &bytes, &size, nil, 0) == 0 ? (name, bytes) : nil
        }
        #else
        return []
        #endif
    }
}

/// What process 1 of a container has to do itself: the kernel takes no default action on a signal for it, so SIGTERM would
/// be ignored.
enum FirstProcess {
    /// Call once, when the program starts. Does nothing in any other process.
    static func begin() {
        guard getpid() == 1 else { return }
        // Until `StopSignals` traps them.
        for number in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] where !StopSignals.isIgnored(number) {
            signal(number) { _exit(128 + $0) }
        }
    }
}
