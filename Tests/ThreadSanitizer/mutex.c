// Reports to the thread sanitizer the locks that it cannot see.
//
// `Mutex` acquires a free lock by an atomic operation, which is compiled into the caller and instrumented there. It
// waits for a held lock, and hands it on, in the kernel: in `_lockSlow` and `_unlockSlow` of
// libswiftSynchronization.so, which is not instrumented. So two threads that do nothing but
// `mutex.withLock { $0 += 1 }` are reported as a race, although the sum is right. Preloaded, this library wraps the two
// functions and reports what they do; nothing is suppressed.
//
// `mutex` is the address of the atomic, by which the sanitizer identifies the lock. Swift passes it as `self`.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *mutex
#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

// Missing in a process without the sanitizer, such as a tool that a test runs.
void __tsan_acquire(void *address) __attribute__((weak));
void __tsan_release(void *address) __attribute__((weak));

SWIFT void lock_slow(uint32_t thread, SELF) __asm__(LOCK_SLOW);
SWIFT void unlock_slow(SELF) __asm__(UNLOCK_SLOW);

SWIFT void lock_slow(uint32_t thread, SELF) {
    SWIFT void (*original)(uint32_t, SELF) = dlsym(RTLD_NEXT, LOCK_SLOW);
    original(thread, mutex);
    if (__tsan_acquire) __tsan_acquire(mutex);
}

SWIFT void unlock_slow(SELF) {
    SWIFT void (*original)(SELF) = dlsym(RTLD_NEXT, UNLOCK_SLOW);
    if (__tsan_release) __tsan_release(mutex);
    original(mutex);
}
