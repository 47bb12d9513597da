// What a program needs to read the names of its own functions: the format of its file, and the function of Swift's runtime
// that spells such a name out.
#ifndef CSYMBOLS_H
#define CSYMBOLS_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

/// Swift's own, exported by its standard library.
///
/// - Returns: NULL if it is no name of Swift's; the caller frees the text.
char *_Nullable swift_demangle(
    const char *_Nonnull name, size_t length, char *_Nullable buffer, size_t *_Nullable capacity, uint32_t flags);

#endif
