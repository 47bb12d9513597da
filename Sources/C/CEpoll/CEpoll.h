// Linux' epoll, eventfd and sched_setattr(2) for Swift: Glibc's module does not have them. Also shims for what Swift
// cannot express: constants of enumerations that are used as flags.
#ifndef CEPOLL_H
#define CEPOLL_H

#include <linux/sched.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline int CEpoll_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

static inline int CEpoll_create_signal(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

/// Makes `epoll` report any of `events` on the descriptor; replaces the earlier events if it `isKnown`. Returns -1 on
/// failure.
static inline int CEpoll_await(int epoll, int descriptor, uint32_t events, int isKnown)
{
    struct epoll_event event = {.events = events, .data = {.fd = descriptor}};
    return epoll_ctl(epoll, isKnown ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, descriptor, &event);
}

static inline int CEpoll_forget(int epoll, int descriptor)
{
    return epoll_ctl(epoll, EPOLL_CTL_DEL, descriptor, 0);
}

/// Makes the calling thread yield: threads that wake up preempt it, and it preempts no others when it wakes up. Linux
/// before 6.12 does only the latter. The thread's share of the processor and its nice value stay the same. This is a
/// hint: failures are ignored.
static inline void CEpoll_preferOtherThreads(void)
{
    // Linux' `struct sched_attr`, whose header cannot be included beside glibc's.
    struct {
        uint32_t size, policy;
        uint64_t flags;
        int32_t nice;
        uint32_t priority;
        uint64_t slice, deadline, period; // ns
    } attributes = {
        .size = sizeof attributes,
        .policy = SCHED_BATCH,
        .nice = getpriority(PRIO_PROCESS, 0),
        .slice = 20 * 1000 * 1000,
    };
    syscall(SYS_sched_setattr, 0, &attributes, 0);
}

static const uint32_t CEpoll_readable = EPOLLIN;
static const uint32_t CEpoll_writable = EPOLLOUT;
/// The peer has closed its side, or the connection is gone. epoll reports the latter two events in any case.
static const uint32_t CEpoll_hungUp = EPOLLRDHUP | EPOLLHUP | EPOLLERR;

#endif
