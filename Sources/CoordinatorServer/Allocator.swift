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
}
