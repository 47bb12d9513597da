// jemalloc for Swift: its header, and nothing else. Linking it is what makes it the process's allocator.
#ifndef CJEMALLOC_H
#define CJEMALLOC_H

#include <jemalloc/jemalloc.h>

#endif
