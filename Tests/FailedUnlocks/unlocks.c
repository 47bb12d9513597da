// Makes a process that it is preloaded into (ld.so(8)) fail to give up locks of files (fcntl(2)), as if the system had no
// memory for them: the next five times after the file that FAILED_UNLOCKS names was made, which then is removed.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

static int fails(int command, const struct flock *lock) {
    static atomic_int left;
    const char *path = getenv("FAILED_UNLOCKS");
    if (command != F_SETLK || lock->l_type != F_UNLCK || !path) return 0;
    if (unlink(path) == 0) atomic_store(&left, 5);
    return atomic_fetch_sub(&left, 1) > 0;
}

int fcntl64(int file, int command, ...) {
    static int (*original)(int, int, ...);
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    if (fails(command, argument)) {
        errno = ENOLCK;
        return -1;
    }
    if (!original) original = (int (*)(int, int, ...))dlsym(RTLD_NEXT, "fcntl64");
    return original(file, command, argument);
}
