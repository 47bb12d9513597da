// CFiles: files of the repository that the program needs, compiled in. Knows nothing of what they are for.
#pragma once

#include <stddef.h>

/// The bytes are there as long as the process, and never change.
typedef struct {
    const unsigned char *_Nullable bytes;
    size_t count;
} CFiles_File;

/// - Returns: no bytes if there is no file of that name, such as `Console/main.js`.
CFiles_File CFiles_find(const char *_Nonnull name);
