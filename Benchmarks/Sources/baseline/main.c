// The upper bound: bare libmicrohttpd in C. It reads each request's body, ignores it, and answers with as many bytes
// and the same headers as the server. With a journal, it answers when a record of RECORD_BYTES is flushed to that file:
// a request is suspended; one thread writes and flushes once for all waiting requests, and resumes them.
//
//   baseline PORT THREADS BYTES [JOURNAL RECORD_BYTES]

#define _GNU_SOURCE
#include <fcntl.h>
#include <microhttpd.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST_LINE = 4096 };

static char *body;
static size_t body_size;

static int journal = -1;
static size_t record_size;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrival = PTHREAD_COND_INITIALIZER;
static struct MHD_Connection *line[LONGEST_LINE];
static size_t line_size;

static void *flush_for_all(void *unused)
{
    static struct MHD_Connection *served[LONGEST_LINE];
    char *batch = malloc(record_size * LONGEST_LINE);
    for (;;) {
        pthread_mutex_lock(&lock);
        while (line_size == 0) pthread_cond_wait(&arrival, &lock);
        size_t count = line_size;
        memcpy(served, line, count * sizeof *line);
        line_size = 0;
        pthread_mutex_unlock(&lock);
        for (size_t i = 0; i < count; i++) memset(batch + i * record_size, 'x', record_size);
        if (write(journal, batch, count * record_size) < 0 || fdatasync(journal) != 0) _exit(74);
        for (size_t i = 0; i < count; i++) MHD_resume_connection(served[i]);
    }
}

static void wait_for_flush(struct MHD_Connection *connection)
{
    MHD_suspend_connection(connection);
    pthread_mutex_lock(&lock);
    line[line_size++] = connection;
    pthread_cond_signal(&arrival);
    pthread_mutex_unlock(&lock);
}

static enum MHD_Result answer(
    void *context, struct MHD_Connection *connection, const char *url, const char *method, const char *version,
    const char *upload, size_t *upload_size, void **request)
{
    static int seen, flushed;
    if (*request == NULL) {
        *request = &seen;
        return MHD_YES;
    }
    if (*upload_size > 0) {
        *upload_size = 0;
        return MHD_YES;
    }
    if (journal >= 0 && *request == &seen) {
        *request = &flushed;
        wait_for_flush(connection);
        return MHD_YES;
    }
    struct MHD_Response *response = MHD_create_response_from_buffer(body_size, body, MHD_RESPMEM_MUST_COPY);
    MHD_add_response_header(response, "Content-Type", "application/json");
    MHD_add_response_header(response, "Cache-Control", "no-store");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(response, "X-Request-Id", "5f3c1a90-10000");
    MHD_add_response_header(response, "ETag", "\"1000\"");
    enum MHD_Result result = MHD_queue_response(connection, MHD_HTTP_OK, response);
    MHD_destroy_response(response);
    return result;
}

int main(int count, char **arguments)
{
    if (count != 4 && count != 6) {
        fprintf(stderr, "usage: baseline PORT THREADS BYTES [JOURNAL RECORD_BYTES]\n");
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

    if (count == 6) {
        pthread_t thread;
        record_size = (size_t)atol(arguments[5]);
        journal = open(arguments[4], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (journal < 0 || pthread_create(&thread, NULL, flush_for_all, NULL) != 0) {
            fprintf(stderr, "baseline: cannot write to %s\n", arguments[4]);
            return 74;
        }
    }

    struct MHD_OptionItem options[] = {
        {MHD_OPTION_CONNECTION_LIMIT, 10000, NULL},
        {MHD_OPTION_CONNECTION_TIMEOUT, 60, NULL},
        {threads > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END, threads, NULL},
        {MHD_OPTION_END, 0, NULL},
    };
    struct MHD_Daemon *daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, (uint16_t)atoi(arguments[1]), NULL, NULL, answer, NULL,
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
