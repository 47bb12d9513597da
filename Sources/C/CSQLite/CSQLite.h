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

/// sqlite3_config is variadic, which Swift cannot call. Turns SQLite's memory statistics off.
static inline int CSQLite_count_no_memory(void)
{
    return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

/// Variadic as above. Keeps in memory what a savepoint needs to be rolled back, however large it is.
static inline int CSQLite_keep_savepoints_in_memory(void)
{
    return sqlite3_config(SQLITE_CONFIG_STMTJRNL_SPILL, -1);
}

/// sqlite3_db_config is variadic, too. Sets whether the log stays as it is when the last connection is closed.
static inline int CSQLite_keep_log(sqlite3 *database, int isKept)
{
    return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, isKept, (int *)0);
}

/// Extended result codes are expressions, which Swift does not import.
enum {
    CSQLite_IOERR_SHORT_READ = SQLITE_IOERR_SHORT_READ,
    CSQLite_READONLY_ROLLBACK = SQLITE_READONLY_ROLLBACK,
    CSQLite_IOERR_WRITE = SQLITE_IOERR_WRITE,
    CSQLite_IOERR_FSYNC = SQLITE_IOERR_FSYNC,
    CSQLite_IOERR_DIR_FSYNC = SQLITE_IOERR_DIR_FSYNC,
};

#endif
