// Stands in for three functions of the system in the test's own executable, which the dynamic linker asks first. Swift's runtime brings
// every job of every task to them, and every clock of the suite is read by one of them: so the services need not know of any simulation,
// and no sleep and no look at a clock can be forgotten. Threads that have not begun a simulation get what the system says.

#define _GNU_SOURCE
#include "PlayedTime.h"

#include <dlfcn.h>
#include <stddef.h>
#include <time.h>

static _Thread_local struct {
    void *player;
    played_queue queue;
    int64_t wall, steady;
} played;

static int (*real_clock)(clockid_t, struct timespec *);
static void (*real_async)(void *, void *, void (*)(void *));
static void (*real_after)(uint64_t, void *, void *, void (*)(void *));

__attribute__((constructor)) static void find(void) {
    real_clock = dlsym(RTLD_NEXT, "clock_gettime");
    real_async = dlsym(RTLD_NEXT, "dispatch_async_f");
    real_after = dlsym(RTLD_NEXT, "dispatch_after_f");
}

void played_time_begin(void *player, played_queue queue) {
    played.player = player;
    played.queue = queue;
}

void played_time_set(int64_t wall, int64_t steady) {
    played.wall = wall;
    played.steady = steady;
}

void played_time_end(void) {
    played.queue = NULL;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    if (!real_clock) find();
    if (!played.queue) return real_clock(clock, time);
    int64_t now = clock == CLOCK_REALTIME ? played.wall : played.steady;
    time->tv_sec = now / 1000000000;
    time->tv_nsec = now % 1000000000;
    return 0;
}

void dispatch_async_f(void *queue, void *context, void (*work)(void *)) {
    if (played.queue) played.queue(played.player, played.steady, context, work);
    else real_async(queue, context, work);
}

// The two highest bits say which clock is meant; a sleeping task's is the steady one.
static const uint64_t value_of_time = UINT64_C(0x3fffffffffffffff);

void dispatch_after_f(uint64_t when, void *queue, void *context, void (*work)(void *)) {
    if (played.queue) played.queue(played.player, (int64_t)(when & value_of_time), context, work);
    else real_after(when, queue, context, work);
}
