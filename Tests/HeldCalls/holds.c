// Holds one call of a program that it is preloaded into (ld.so(8)): that of the name HELD_CALL, `fdatasync` or `pwrite64`, and
// the number HELD_NUMBER among those of its thread. Once it has come, the file HOLD is there; it goes on when that is removed.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void hold(const char *call) {
    static __thread int count;
    const char *name = getenv("HELD_CALL"), *number = getenv("HELD_NUMBER"), *path = getenv("HOLD");
    if (!name || !number || !path || strcmp(call, name) != 0 || ++count != atoi(number)) return;
    close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    while (access(path, F_OK) == 0) usleep(5000);
}

int fdatasync(int file) {
    hold("fdatasync");
    return ((__typeof__(&fdatasync))dlsym(RTLD_NEXT, "fdatasync"))(file);
}

ssize_t pwrite64(int file, const void *bytes, size_t count, off64_t offset) {
    hold("pwrite64");
    return ((__typeof__(&pwrite64))dlsym(RTLD_NEXT, "pwrite64"))(file, bytes, count, offset);
}
