// The clocks and dispatch queues of one thread, as its simulation plays them.

#include <stdbool.h>
#include <stdint.h>

/// Takes what would have gone to a dispatch queue: at once, or once the steady clock shows `due` nanoseconds. To be run on the same thread.
typedef void (*played_queue)(void *player, int64_t due, void *context, void (*work)(void *));

/// From here on the calling thread's clocks show what `played_time_set` said, and all that it hands to a dispatch queue goes to `queue`.
void played_time_begin(void *player, played_queue queue);

/// Nanoseconds since 1970, and of the steady clock.
void played_time_set(int64_t wall, int64_t steady);

/// The calling thread has the machine's clock and queues again.
void played_time_end(void);
