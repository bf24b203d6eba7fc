// The end of a process whose store cannot be believed.

import Glibc

/// Without running exit handlers: they might still say something on the strength of the store. Nothing is committed any more, but
/// what needs no store has a moment to leave: an alarm that is on its way to the bus.
func endProcess() {
    // Not to wait for something: for what is leaving without the store. No task needs this thread any more.
    usleep(StoreSettings.lastWords)
    _exit(StoreSettings.fatalExitCode)
}
