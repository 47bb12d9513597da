// The ceiling: bare libmicrohttpd in C. It reads each request's body, looks at nothing, and answers as many bytes under
// the same headers as the server does.
//
//   baseline PORT THREADS BYTES

#include <microhttpd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *body;
static size_t body_size;

static enum MHD_Result answer(
    void *context, struct MHD_Connection *connection, const char *url, const char *method, const char *version,
    const char *upload, size_t *upload_size, void **request)
{
    static int seen;
    if (*request == NULL) {
        *request = &seen;
        return MHD_YES;
    }
    if (*upload_size > 0) {
        *upload_size = 0;
        return MHD_YES;
    }
    struct MHD_Response *response = MHD_create_response_from_buffer(body_size, body, MHD_RESPMEM_MUST_COPY);
    MHD_add_response_header(response, "Content-Type", "application/json");
    MHD_add_response_header(response, "Cache-Control", "no-store");
    MHD_add_response_header(response, "ETag", "\"1000\"");
    enum MHD_Result result = MHD_queue_response(connection, MHD_HTTP_OK, response);
    MHD_destroy_response(response);
    return result;
}

int main(int count, char **arguments)
{
    if (count != 4) {
        fprintf(stderr, "usage: baseline PORT THREADS BYTES\n");
        return 64;
    }
    unsigned int threads = (unsigned int)atoi(arguments[2]);
    body_size = (size_t)atol(arguments[3]);
    body = malloc(body_size);
    memset(body, 'x', body_size);

    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTERM);
    sigaddset(&stop, SIGINT);
    sigprocmask(SIG_BLOCK, &stop, NULL);

    struct MHD_OptionItem options[] = {
        {MHD_OPTION_CONNECTION_LIMIT, 10000, NULL},
        {MHD_OPTION_CONNECTION_TIMEOUT, 60, NULL},
        {threads > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END, threads, NULL},
        {MHD_OPTION_END, 0, NULL},
    };
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD, (uint16_t)atoi(arguments[1]), NULL, NULL, answer, NULL,
        MHD_OPTION_ARRAY, options, MHD_OPTION_END);
    if (daemon == NULL) {
        fprintf(stderr, "baseline: cannot start\n");
        return 69;
    }
    int received;
    sigwait(&stop, &received);
    MHD_stop_daemon(daemon);
    free(body);
    return 0;
}
