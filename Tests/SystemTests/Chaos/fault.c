// Put before a process's libraries (LD_PRELOAD): its disk and its wall clock do what a file says. The file's path is in TM_FAULT; its
// text is read anew at most every 20 ms: "eio N" lets the N-th and all later flushes fail, "slow MS" makes each wait, "clock MS" sets
// the wall clock off by so much, "none" nothing. Flushes are counted from the time when the text changed.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static _Atomic long fail_from, delay_ms, clock_ms, flushes, looked_at;
static char last[64];

static long now_ms(void) {
    struct timespec t;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void look(void) {
    long now = now_ms(), before = atomic_load(&looked_at);
    if (now - before < 20 || !atomic_compare_exchange_strong(&looked_at, &before, now)) return;
    const char *path = getenv("TM_FAULT");
    if (!path) return;
    FILE *file = fopen(path, "re");
    if (!file) return;
    char text[64] = "", word[32] = "";
    long number = 0;
    if (!fgets(text, sizeof text, file)) text[0] = 0;
    fclose(file);
    if (strcmp(text, last) == 0) return;
    strcpy(last, text);
    sscanf(text, "%31s %ld", word, &number);
    atomic_store(&flushes, 0);
    atomic_store(&fail_from, strcmp(word, "eio") == 0 ? number : 0);
    atomic_store(&delay_ms, strcmp(word, "slow") == 0 ? number : 0);
    if (strcmp(word, "clock") == 0) atomic_store(&clock_ms, number);
}

static int fault(void) {
    look();
    long count = atomic_fetch_add(&flushes, 1) + 1, from = atomic_load(&fail_from), delay = atomic_load(&delay_ms);
    if (delay > 0) {
        struct timespec t = {delay / 1000, delay % 1000 * 1000000};
        nanosleep(&t, NULL);
    }
    return from > 0 && count >= from;
}

int fsync(int descriptor) {
    if (fault()) { errno = EIO; return -1; }
    return syscall(SYS_fsync, descriptor);
}

int fdatasync(int descriptor) {
    if (fault()) { errno = EIO; return -1; }
    return syscall(SYS_fdatasync, descriptor);
}

static void shift(long *seconds, long *nanoseconds) {
    look();
    long offset = atomic_load(&clock_ms);
    *seconds += offset / 1000;
    *nanoseconds += offset % 1000 * 1000000;
    if (*nanoseconds >= 1000000000) { *seconds += 1; *nanoseconds -= 1000000000; }
    if (*nanoseconds < 0) { *seconds -= 1; *nanoseconds += 1000000000; }
}

int clock_gettime(clockid_t clock, struct timespec *t) {
    int result = syscall(SYS_clock_gettime, clock, t);
    if (result == 0 && clock == CLOCK_REALTIME) shift(&t->tv_sec, &t->tv_nsec);
    return result;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone) {
    struct timespec exact;
    (void)zone;
    int result = clock_gettime(CLOCK_REALTIME, &exact);
    t->tv_sec = exact.tv_sec;
    t->tv_usec = exact.tv_nsec / 1000;
    return result;
}

time_t time(time_t *result) {
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (result) *result = exact.tv_sec;
    return exact.tv_sec;
}
