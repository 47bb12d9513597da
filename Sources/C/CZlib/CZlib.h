// zlib for Swift: its header, and a shim for the macro that Swift cannot read by itself. Nothing else.
#ifndef CZLIB_H
#define CZLIB_H

#include <zlib.h>

/// deflateInit2 is a macro. Begins a stream in the format gzip (RFC 1952), with zlib's usual level and memory.
static inline int CZlib_begin_gzip(z_streamp stream)
{
    return deflateInit2(stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
}

#endif
