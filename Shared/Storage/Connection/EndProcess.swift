// The end of a process whose store cannot be believed.

import Glibc

/// At once, without running exit handlers: they might still say something on the strength of the store.
func endProcess() {
    _exit(StoreSettings.fatalExitCode)
}
