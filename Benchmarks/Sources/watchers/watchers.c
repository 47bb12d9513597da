// The client of Benchmarks/watchers: one process posts events to sessions at a steady rate, and another reads the streams
// of those who watch them. They print how soon events were answered, and told to the watchers.
//
//   watchers PORT[,PORT…] WATCHERS RATE OTHER_RATE SECONDS SERVER_PID < SESSIONS
//
// With several ports, a session's events are posted to one server, and its watchers are at the others.
// SESSIONS has a line "ID TOKEN 0|PORT VERSION" for each session; a port marks those that nobody watches, and is where
// their events are posted.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { REMEMBERED = 64, CAPACITY = 4000000, IDLE_SECONDS = 20 };

struct session {
    char id[32], token[64];
    int socket, version, other_port, next_idle;
    double sent[REMEMBERED]; // By version.
};

struct times { double *values; size_t count; };
struct queue { int first, last; };

static struct session *sessions;
static int session_count, *owners; // By descriptor: the session of a stream, or -1 - session of a poster.
static int ports[16], port_count, poll_set, watch_set;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static void fail(const char *what) { perror(what); exit(1); }

static int connect_to_server(int port) {
    static int count;
    int on = 1, descriptor = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = inet_addr("127.0.0.1");
    // Several addresses of its own, because each has only 28,000 ports.
    struct sockaddr_in own = {.sin_family = AF_INET};
    own.sin_addr.s_addr = htonl(0x7f000001 + count++ % 8);
    if (descriptor < 0 || bind(descriptor, (void *)&own, sizeof own) < 0 ||
        connect(descriptor, (void *)&address, sizeof address) < 0) fail("connect");
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return descriptor;
}

static void add(int set, int descriptor, int owner) {
    owners[descriptor] = owner;
    struct epoll_event event = {.events = EPOLLIN, .data.fd = descriptor};
    if (epoll_ctl(set, EPOLL_CTL_ADD, descriptor, &event) < 0) fail("epoll_ctl");
}

static void note(struct times *times, double value) {
    if (times->count < CAPACITY) times->values[times->count++] = value;
}

static int compare(const void *left, const void *right) {
    double difference = *(const double *)left - *(const double *)right;
    return (difference > 0) - (difference < 0);
}

static void print(const char *name, struct times *times) {
    qsort(times->values, times->count, sizeof(double), compare);
    if (times->count == 0) return;
    printf("%s %zu %.2f %.2f %.2f\n", name, times->count, times->values[times->count / 2] * 1000,
           times->values[times->count * 99 / 100] * 1000, times->values[times->count - 1] * 1000);
}

static void put(struct queue *queue, int session) {
    sessions[session].next_idle = -1;
    if (queue->last >= 0) sessions[queue->last].next_idle = session; else queue->first = session;
    queue->last = session;
}

static struct session *take(struct queue *queue) {
    if (queue->first < 0) return NULL;
    struct session *session = &sessions[queue->first];
    queue->first = session->next_idle;
    if (queue->first < 0) queue->last = -1;
    return session;
}

static void post(struct session *session, double time) {
    static int value;
    char body[80], text[400];
    int size = sprintf(body, "{\"type\":\"update\",\"payload\":%d}", ++value);
    session->sent[++session->version % REMEMBERED] = time;
    size = sprintf(text, "POST /v1/sessions/%s/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"
                   "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", session->id, session->token, size, body);
    if (send(session->socket, text, size, MSG_NOSIGNAL) != size) fail("send");
}

static double processor(int pid) {
    char path[64], text[1000];
    unsigned long user = 0, system = 0;
    sprintf(path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "r");
    if (!file || !fgets(text, sizeof text, file)) fail(path);
    fclose(file);
    sscanf(strrchr(text, ')') + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user, &system);
    return (double)(user + system) / sysconf(_SC_CLK_TCK);
}

static long resident(int pid) {
    char path[64], line[200];
    long size = 0;
    sprintf(path, "/proc/%d/status", pid);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) sscanf(line, "VmRSS: %ld", &size);
    if (file) fclose(file);
    return size;
}

int main(int count, char **arguments) {
    if (count != 7) return fprintf(stderr, "see the comment\n"), 64;
    for (char *text = strtok(arguments[1], ","); text && port_count < 16; text = strtok(NULL, ","))
        ports[port_count++] = atoi(text);
    int watchers = atoi(arguments[2]), rate = atoi(arguments[3]), other_rate = atoi(arguments[4]);
    int seconds = atoi(arguments[5]), pid = atoi(arguments[6]);
    // Shared: one process writes when it has asked for a version, the other reads that.
    sessions = mmap(NULL, 200000 * sizeof *sessions, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    owners = calloc(1 << 20, sizeof *owners);
    poll_set = epoll_create1(0);
    watch_set = epoll_create1(0);
    int watched = 0;
    struct queue idle = {-1, -1}, others = {-1, -1};
    while (scanf("%31s %63s %d %d", sessions[session_count].id, sessions[session_count].token,
                 &sessions[session_count].other_port, &sessions[session_count].version) == 4) {
        struct session *session = &sessions[session_count];
        session->socket = connect_to_server(session->other_port ? session->other_port : ports[session_count % port_count]);
        add(poll_set, session->socket, -1 - session_count);
        put(session->other_port ? &others : &idle, session_count);
        if (!session->other_port) watched = session_count + 1; // They come first.
        session_count++;
    }

    static char data[1 << 20];
    if (watchers > 0) {
        long before = resident(pid);
        int *streams = calloc(watchers, sizeof *streams);
        for (int index = 0; index < watchers; index++) {
            struct session *session = &sessions[index % watched];
            int away = port_count > 1 ? 1 + index / watched % (port_count - 1) : 0;
            streams[index] = connect_to_server(ports[(index % watched + away) % port_count]);
            int size = sprintf(data, "GET /v1/sessions/%s/updates HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n",
                               session->id, session->token);
            if (send(streams[index], data, size, MSG_NOSIGNAL) != size) fail("send");
        }
        for (int index = 0; index < watchers; index++) {
            size_t size = 0;
            do {
                ssize_t more = recv(streams[index], data + size, sizeof data - size - 1, 0);
                if (more <= 0) fail("a stream was refused");
                data[size += more] = 0;
            } while (!strstr(data, "event: state") || !strstr(data, "}\n\n"));
            add(watch_set, streams[index], index % watched);
        }
        printf("memory %.2f\n", (double)(resident(pid) - before) / watchers);
        double used = processor(pid);
        sleep(IDLE_SECONDS);
        printf("idle %.2f\n", (processor(pid) - used) * 100 / IDLE_SECONDS);
    }

    struct times answers = {malloc(CAPACITY * sizeof(double))}, other_answers = {malloc(CAPACITY * sizeof(double))};
    struct times told = {malloc(CAPACITY * sizeof(double))};
    double start = now(), next = start, next_other = start, used = processor(pid), time;
    fflush(stdout);
    int isReader = watchers > 0 && fork() == 0;
    // The readers stand for other machines: they must not keep this one from answering.
    if (isReader && nice(10) == -1) fail("nice");
    if (isReader) poll_set = watch_set, rate = other_rate = 0;
    while ((time = now()) < start + seconds + 1) {
        int is_over = isReader || time > start + seconds;
        for (struct session *session; !is_over && next <= time && (session = take(&idle)); next += 1.0 / rate)
            post(session, time);
        for (struct session *session; !is_over && next_other <= time && (session = take(&others)); next_other += 1.0 / other_rate)
            post(session, time);
        struct epoll_event events[256];
        int ready = epoll_wait(poll_set, events, 256, 1);
        for (int index = 0; index < ready; index++) {
            int descriptor = events[index].data.fd, owner = owners[descriptor];
            ssize_t size = recv(descriptor, data, sizeof data - 1, 0);
            if (size <= 0) fail("a connection has ended");
            data[size] = 0;
            double arrival = now();
            if (owner < 0) {
                struct session *session = &sessions[-1 - owner];
                if (strncmp(data, "HTTP/1.1 200", 12)) return fprintf(stderr, "%s\n", data), 1;
                note(session->other_port ? &other_answers : &answers, arrival - session->sent[session->version % REMEMBERED]);
                put(session->other_port ? &others : &idle, -1 - owner);
            } else {
                for (char *place = data; (place = strstr(place, "\"version\":")); place += 10)
                    note(&told, arrival - sessions[owner].sent[atoi(place + 10) % REMEMBERED]);
            }
        }
    }
    if (isReader) return print("told", &told), fflush(stdout), 0;
    while (wait(NULL) > 0) {}
    printf("processor %.0f\n", (processor(pid) - used) * 100 / (seconds + 1));
    print("answered", &answers);
    print("others", &other_answers);
    for (int index = 0; index < session_count; index++) fprintf(stderr, "%d\n", sessions[index].version);
}
