#if Jemalloc
    internal import CJemalloc
#endif

/// The process's memory allocator: jemalloc in a build that links it, otherwise the system's.
///
/// A request's memory is often allocated on one thread and freed on another, the store's writer: in this case glibc's
/// allocator takes locks, which costs a sixth of the server's speed.
enum Allocator {
    /// Lets a thread of the allocator return memory to the system that was unused for some seconds. Otherwise this
    /// happens only as a side effect of further allocations, so an idle server would stay as large as it ever was.
    static func giveBackInBackground() {
        #if Jemalloc
            var isOn = true
            mallctl("background_thread", nil, nil, &isOn, MemoryLayout<Bool>.size)
        #endif
    }

    /// Its own figures, by jemalloc's names for them (jemalloc(3), `stats.`); none with another allocator.
    static var figures: [(name: String, bytes: Int)] {
        #if Jemalloc
            // The figures are those of the moment at which this was last written.
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
