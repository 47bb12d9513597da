// SQLite for Swift: its header, and a shim for each macro that Swift cannot read by itself. Nothing else.
#ifndef CSQLITE_H
#define CSQLITE_H

#include <sqlite3.h>

/// SQLITE_TRANSIENT is a number cast to a function, which Swift does not import. SQLite copies what is bound with it
/// before the binding call returns.
static inline sqlite3_destructor_type CSQLite_transient(void)
{
    return SQLITE_TRANSIENT;
}

#endif
