// CFiles: files of the repository that the program needs, compiled in. Knows nothing of what they are for.
#pragma once

#include <stddef.h>

/// The bytes are there as long as the process, and never change.
typedef struct {
    const unsigned char *_Nonnull bytes;
    size_t count;
} CFiles_File;

/// A file by its name, such as `Console/main.js`. Ends the process if there is none: names are written in the sources.
CFiles_File CFiles_find(const char *_Nonnull name);
