// Sends the store's own commit statement to PostgreSQL from several connections, with sessions of their own, and prints
// how many changes a second were committed: what a server could reach if it did nothing else.
//
//   lanes CONNINFO STATEMENT_FILE CONNECTIONS CHANGES_IN_A_BATCH SECONDS
#include <libpq-fe.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SESSIONS = 2000, RECORD = 450, PARAMETERS = 18 };

static const char *conninfo;
static char statement[16384];
static int batch, seconds;

struct lane {
    pthread_t thread;
    long long number, changes;
};

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void fail(const char *what) {
    fprintf(stderr, "lanes: %s\n", what);
    exit(1);
}

// Writes an array with an element for each session of a batch, as text: `prefix` and a number, which is `number`, or that
// of the session in `numbers`.
static void fill(char *text, const char *prefix, long long number, const long *numbers) {
    char *end = text + sprintf(text, "{");
    for (int i = 0; i < batch; i++)
        end += sprintf(end, "%s%s%lld", i ? "," : "", prefix, numbers ? (long long)numbers[i] : number);
    sprintf(end, "}");
}

// An array of nothing but NULL.
static void fill_nulls(char *text) {
    char *end = text + sprintf(text, "{");
    for (int i = 0; i < batch; i++) end += sprintf(end, "%sNULL", i ? "," : "");
    sprintf(end, "}");
}

static void *run(void *argument) {
    struct lane *lane = argument;
    PGconn *connection = PQconnectdb(conninfo);
    if (PQstatus(connection) != CONNECTION_OK) fail(PQerrorMessage(connection));
    PQclear(PQexec(connection, "SET plan_cache_mode = force_generic_plan; SET jit = off; SET enable_seqscan = off; "
                               "SET enable_bitmapscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off"));
    PGresult *result = PQprepare(connection, "commit", statement, PARAMETERS, NULL);
    if (PQresultStatus(result) != PGRES_COMMAND_OK) fail(PQerrorMessage(connection));
    PQclear(result);

    static __thread long numbers[SESSIONS], stamps[SESSIONS], versions[SESSIONS];
    char record[RECORD + 1], *values[PARAMETERS], prefix[32], lane_text[32], n_text[32];
    memset(record, 'x', RECORD);
    record[RECORD] = 0;
    for (int i = 0; i < PARAMETERS; i++) values[i] = malloc((size_t)batch * (RECORD + 32) + 3);
    for (int i = 0; i < 15; i++) fill_nulls(values[i]);
    for (int i = 0; i < SESSIONS; i++) numbers[i] = i, versions[i] = 1;
    sprintf(lane_text, "%lld", lane->number);
    sprintf(prefix, "lane%lld-", lane->number);
    values[15] = lane_text, values[16] = n_text, values[17] = "1";

    double end = now() + seconds;
    int first = 0;
    for (long long n = 1; now() < end; n++, first = (first + batch) % (SESSIONS - SESSIONS % batch)) {
        fill(values[0], prefix, 0, numbers + first);
        fill(values[1], "", 0, stamps + first);
        fill(values[2], "", 0, versions + first);
        fill(values[4], "", 4000000000000LL, NULL);
        char *text = values[9] + sprintf(values[9], "{");
        for (int i = 0; i < batch; i++) text += sprintf(text, "%s%s", i ? "," : "", record);
        sprintf(text, "}");
        fill(values[10], "", 7, NULL);
        sprintf(n_text, "%lld", n);
        result = PQexecPrepared(connection, "commit", PARAMETERS, (const char *const *)values, NULL, NULL, 0);
        if (PQresultStatus(result) != PGRES_TUPLES_OK) fail(PQerrorMessage(connection));
        PQclear(result);
        for (int i = 0; i < batch; i++) stamps[first + i]++, versions[first + i]++;
        lane->changes += batch;
    }
    PQfinish(connection);
    return NULL;
}

int main(int count, char **arguments) {
    if (count != 6) fail("CONNINFO STATEMENT_FILE CONNECTIONS CHANGES_IN_A_BATCH SECONDS");
    conninfo = arguments[1];
    FILE *file = fopen(arguments[2], "r");
    if (!file || fread(statement, 1, sizeof statement - 1, file) == 0) fail("there is no statement");
    int connections = atoi(arguments[3]);
    batch = atoi(arguments[4]);
    seconds = atoi(arguments[5]);
    struct lane lanes[64];
    if (connections < 1 || connections > 64 || batch < 1 || batch > 64) fail("1 to 64 connections and changes");
    for (int i = 0; i < connections; i++) {
        // Lanes that no server has, others in each run.
        lanes[i] = (struct lane){.number = (long long)time(NULL) * 1000 + i};
        pthread_create(&lanes[i].thread, NULL, run, &lanes[i]);
    }
    long long changes = 0;
    for (int i = 0; i < connections; i++) {
        pthread_join(lanes[i].thread, NULL);
        changes += lanes[i].changes;
    }
    printf("%lld\n", changes / seconds);
}
