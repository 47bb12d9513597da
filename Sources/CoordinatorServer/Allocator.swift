#if Jemalloc
    internal import CJemalloc
#endif

/// The process's memory allocator is jemalloc, because it is linked; that of the system in a build without.
///
/// A request's memory is often allocated on one thread and freed on another, the store's writer: there the allocator of
/// glibc takes locks, and a sixth of the server's speed.
enum Allocator {
    /// Lets a thread of the allocator's give back to the system what has not been used for some seconds. Without it that
    /// happens only as a side effect of further allocations, so an idle server would stay as large as it ever was.
    static func giveBackInBackground() {
        #if Jemalloc
            var isOn = true
            mallctl("background_thread", nil, nil, &isOn, MemoryLayout<Bool>.size)
        #endif
    }
}
