// The end of a process whose store cannot be believed.

import Glibc

/// Without running exit handlers: they might still say something on the strength of the store. Nothing is committed any more, but
/// what needs no store has a moment to leave: an alarm that is on its way to the bus.
func endProcess() {
    // A fixed time, since nobody can say when the sockets are empty: the thread that owns them is not asked any more. The writer's thread
    // has nothing else to do; a longer stay would only put off the restart.
    usleep(StoreSettings.lastWords)
    _exit(StoreSettings.fatalExitCode)
}
