// A name server that does not answer, for tests: look-ups of `*.slow.invalid` take three seconds and find nothing.

#ifndef C_SLOW_NAMES_H
#define C_SLOW_NAMES_H

/// How many look-ups of such names have begun in this process.
int slow_lookups_begun(void);

#endif
