// glibc's own functions of its allocator, which Swift's module of glibc leaves out.
#pragma once
#include <malloc.h>
