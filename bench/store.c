/*
 * bench-store: durable writes of 1 KB objects through the mirror and the store, and recovery.   bench-store [FOLDER]
 *
 * As many clients as a server has connections each write, wait until the write is durable, and write again; what
 * the loop finds staged in one turn is one batch. The floor is one fdatasync of 4 KiB a write, without grouping.
 */
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "measure.h"
#include "mirror/fake_kind.h"
#include "store/fake_loop.h"
#include "store/store.h"

enum { CLIENTS_MAX = 256, VALUE_BYTES = 830, LOAD_OBJECTS = 100000 };

struct bench {
    struct fake_loop loop;
    struct store *s;
    struct mirror *m;
    int64_t *latency;
    size_t n, want, next;
    bool update; /* of the objects that are there, in a shuffled order */
};

struct client {
    struct bench *b;
    int64_t start;
};

static void die(const char *what, const struct err *err) {
    fprintf(stderr, "bench-store: %s: %s\n", what, err->text);
    exit(1);
}

static void begin(struct bench *b, const char *dir, struct store_recovered *r) {
    struct err err = {0};
    *b = (struct bench){.loop = FAKE_LOOP_INIT};
    struct store_options o = {
        .dir = dir, .find_kind = fake_find, .post = fake_post, .post_ctx = &b->loop};
    if (store_open(&o, &b->s, &err) != 0) {
        die("open", &err);
    }
    b->m = mirror_new(&(struct mirror_options){.journal = store_journal(b->s)});
    if (b->m == NULL || store_recover(b->s, b->m, r, &err) != 0) {
        die("recover", &err);
    }
}

static void end(struct bench *b) {
    store_close(b->s);
    mirror_free(b->m);
    fake_turn(&b->loop, 0);
}

static void write_one(struct client *c);

static void on_done(void *ctx, int code, const struct object *o, const struct err *err) {
    struct client *c = ctx;
    if (code != 0) {
        die("write", err);
    }
    c->b->latency[c->b->n++] = measure_now() - c->start;
    if (c->b->next < c->b->want) {
        write_one(c);
    }
}

static void write_one(struct client *c) {
    static char value[VALUE_BYTES];
    struct bench *b = c->b;
    struct err err = {0};
    char name[32], uid[48];
    size_t i = b->next++;
    memset(value, 'a' + (int)(i % 26), sizeof(value));
    snprintf(name, sizeof(name), "object-%07zu", b->update ? i * 7919 % LOAD_OBJECTS : i);
    snprintf(uid, sizeof(uid), "00000000-0000-4000-8000-%012zu", i);
    c->start = measure_now();
    const struct object *now = mirror_pending(b->m, &fake_map, STR("default"), str_of(name));
    struct object *o;
    if (fake_object(&fake_map, STR("default"), str_of(name), now ? now->uid : str_of(uid), STR(""),
                    str_from(value, sizeof(value)), &o, &err) != 0 ||
        mirror_write(b->m, now ? CHANGE_MODIFIED : CHANGE_ADDED, o, now ? now->rv : 0, on_done, c,
                     &err) != 0) {
        die("stage", &err);
    }
}

static double cpu_seconds(void) {
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void measure(struct bench *b, const char *what, size_t clients, size_t writes, bool update,
                    double floor) {
    static struct client c[CLIENTS_MAX];
    b->latency = malloc(writes * sizeof(*b->latency));
    if (b->latency == NULL) {
        exit(1);
    }
    b->update = update;
    b->n = 0;
    b->want = update ? writes : b->next + writes;
    b->next = update ? 0 : b->next;
    double cpu = cpu_seconds();
    int64_t start = measure_now();
    for (size_t i = 0; i < clients; i++) {
        c[i] = (struct client){.b = b};
        write_one(&c[i]);
    }
    while (b->n < writes) {
        mirror_flush(b->m);
        fake_turn(&b->loop, 1);
    }
    double s = (double)(measure_now() - start) / 1e9, rate = (double)writes / s;
    printf("%-26s %8.0f  %8.2f  %8.2f  %8.1f  %8.1f\n", what, rate,
           (double)measure_percentile(b->latency, writes, 0.5) / 1e6,
           (double)measure_percentile(b->latency, writes, 0.99) / 1e6,
           (cpu_seconds() - cpu) * 1e6 / (double)writes, floor > 0 ? rate / floor : 0);
    free(b->latency);
}

static long rss_kib(void) {
    FILE *f = fopen("/proc/self/statm", "r");
    long size = 0, pages = 0;
    if (f) {
        if (fscanf(f, "%ld %ld", &size, &pages) != 2) {
            pages = 0;
        }
        fclose(f);
    }
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *f) {
    return remove(path);
}

/* Start of a process on what is there: how long, and what an object costs in memory. */
static int recover(const char *dir) {
    long before = rss_kib();
    struct bench b;
    struct store_recovered r;
    int64_t start = measure_now();
    begin(&b, dir, &r);
    double ms = (double)(measure_now() - start) / 1e6;
    printf("recovery of %llu objects: %.0f ms, %.0f bytes of memory each\n",
           (unsigned long long)r.objects, ms,
           (double)(rss_kib() - before) * 1024 / (double)r.objects);
    end(&b);
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "--recover") == 0) {
        return recover(argv[2]);
    }
    char dir[PATH_MAX];
    snprintf(dir, sizeof(dir), "%s/berth-bench-XXXXXX", argc > 1 ? argv[1] : "/tmp");
    if (mkdtemp(dir) == NULL) {
        perror("bench-store: mkdtemp");
        return 1;
    }
    double floor = measure_fdatasync(dir, 4096, 1);
    struct bench b;
    struct store_recovered r;
    begin(&b, dir, &r);
    printf("floor: fdatasync of 4 KiB, preallocated: %.0f/s\n\n", floor);
    printf("%-26s %8s  %8s  %8s  %8s  %8s\n", "1 KB objects", "writes/s", "p50 ms", "p99 ms",
           "CPU us", "x floor");
    measure(&b, "create, 1 client", 1, 1000, false, floor);
    measure(&b, "create, 64 clients", 64, 39000, false, floor);
    measure(&b, "create, 256 clients", 256, 60000, false, floor);
    measure(&b, "update, 64 clients", 64, 40000, true, floor);
    double after = measure_fdatasync(dir, 4096, 1);
    struct store_stats st;
    store_stats(b.s, &st);
    printf("\n%llu transactions, %.1f writes each, longest %.1f ms, %llu checkpoints; "
           "floor afterwards %.0f/s\n",
           (unsigned long long)st.batches, (double)st.writes / (double)st.batches,
           (double)st.commit_ns_max / 1e6, (unsigned long long)st.checkpoints, after);
    end(&b);
    fflush(stdout);
    if (fork() == 0) { /* memory of a fresh process */
        execl("/proc/self/exe", "bench-store", "--recover", dir, (char *)NULL);
        _exit(127);
    }
    (void)wait(NULL);
    (void)nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return 0;
}
