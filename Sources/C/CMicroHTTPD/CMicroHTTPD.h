// libmicrohttpd for Swift: its header, and a shim for each call that Swift cannot make by itself. Nothing else.
#ifndef CMICROHTTPD_H
#define CMICROHTTPD_H

#include <microhttpd.h>

/// MHD_start_daemon is variadic, which Swift cannot call. Callbacks keep their types and share one context; numbers
/// and sockets travel in `options`, which ends with MHD_OPTION_END.
static inline struct MHD_Daemon *CMicroHTTPD_start(
    unsigned int flags,
    MHD_AccessHandlerCallback handler,
    void *(*target)(void *context, const char *target, struct MHD_Connection *connection),
    MHD_RequestCompletedCallback completed,
    MHD_NotifyConnectionCallback connection,
    void *context,
    struct MHD_OptionItem *options)
{
    return MHD_start_daemon(
        flags, 0, NULL, NULL, handler, context,
        MHD_OPTION_URI_LOG_CALLBACK, target, context,
        MHD_OPTION_NOTIFY_COMPLETED, completed, context,
        MHD_OPTION_NOTIFY_CONNECTION, connection, context,
        MHD_OPTION_ARRAY, options,
        MHD_OPTION_END);
}

/// MHD_get_connection_info is variadic. Returns the bytes of the request's head; 0 if they are not known.
static inline size_t CMicroHTTPD_head_size(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return info == NULL ? 0 : info->header_size;
}

/// Variadic as above. Returns the connection's socket; -1 if it is not known.
static inline int CMicroHTTPD_socket(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info == NULL ? -1 : info->connect_fd;
}

/// Variadic as above. Returns the context that the connection callback has stored with this connection.
static inline void *CMicroHTTPD_socket_context(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info == NULL ? NULL : info->socket_context;
}

/// Variadic as above. Returns the client's address, owned by the library and valid until the connection ends.
static inline const struct sockaddr *CMicroHTTPD_client_address(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return info == NULL ? NULL : info->client_addr;
}

#endif
