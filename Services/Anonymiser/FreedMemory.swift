// Memory that large sets and columns leave behind.

import CMalloc

/// glibc keeps what is freed for what the same thread may allocate next: after a start over a million people that is a third of all that the
/// process holds, and after each release its columns.
enum FreedMemory {
    /// Returns it to the system. Takes milliseconds, in which others may have to wait for memory.
    static func giveBack() {
        malloc_trim(0)
    }
}
