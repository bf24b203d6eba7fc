// Stands before the C library's getaddrinfo(3) in the whole test process, libzmq included; other names pass through.

#define _GNU_SOURCE
#include "CSlowNames.h"

#include <dlfcn.h>
#include <netdb.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static atomic_int begun;

int slow_lookups_begun(void) { return atomic_load(&begun); }

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    static const char suffix[] = ".slow.invalid";
    size_t length = node ? strlen(node) : 0;
    if (length >= sizeof suffix - 1 && strcmp(node + length - (sizeof suffix - 1), suffix) == 0) {
        atomic_fetch_add(&begun, 1);
        sleep(3);
        return EAI_AGAIN;
    }
    int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **) =
        (int (*)(const char *, const char *, const struct addrinfo *, struct addrinfo **))dlsym(RTLD_NEXT, "getaddrinfo");
    return next(node, service, hints, found);
}
