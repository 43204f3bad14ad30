/*
 * kill -9 at random moments: what was acknowledged before is there after.
 *
 *     crash-kill9-test [kills]      1000 by default
 *
 * A child recovers the store, writes, and tells of each staged and each acknowledged write through a pipe; the
 * parent kills it, reads the rest of the pipe, recovers the same folder itself, lets the witness judge, and
 * starts the next child there.
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "life.h"

struct record {
    char what; /* 's'taged, 'f'lushed, 'a'cknowledged */
    int key, value;
    uint64_t rv;
};

static char dir[PATH_MAX];
static struct witness witness;
static int report_fd;

static void report(struct record r) {
    if (write(report_fd, &r, sizeof(r)) != (ssize_t)sizeof(r)) {
        _exit(3);
    }
}

static void on_staged(struct life *l, uint64_t rv, int key, int value) {
    report((struct record){.what = 's', .rv = rv, .key = key, .value = value});
}

static void on_flushed(struct life *l) {
    report((struct record){.what = 'f'});
}

static void on_acked(struct life *l, uint64_t rv) {
    report((struct record){.what = 'a', .rv = rv});
}

static _Noreturn void child(uint64_t seed) {
    struct prng r;
    prng_seed(&r, seed);
    struct life l = {.value = (int)(seed % 100000) * 1000,
                     .staged = on_staged,
                     .flushed = on_flushed,
                     .acked = on_acked};
    struct err err = {0};
    if (life_begin(&l, (struct store_options){.dir = dir, .wal_bytes = 256 << 10}, &err) != 0) {
        fprintf(stderr, "child: %s\n", err.text);
        _exit(4);
    }
    for (;;) {
        life_writes(&l, &r);
        if (prng_below(&r, 4)) {
            life_settle(&l);
        }
        if (l.stopped) {
            _exit(5);
        }
    }
}

static void take(const struct record *r) {
    if (r->what == 's') {
        witness_staged(&witness, r->rv, r->key, r->value);
    } else if (r->what == 'f') {
        witness_flushed(&witness);
    } else {
        witness_outcome(&witness, r->rv, OUTCOME_ACKED);
    }
}

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * NS_PER_SEC + t.tv_nsec;
}

/* Reads reports until the deadline (then kills) and on to the end of the pipe. */
static void watch(int fd, pid_t pid, int64_t life_ns) {
    char buf[64 * sizeof(struct record)];
    size_t n = 0;
    bool killed = false;
    int64_t end = now_ns() + life_ns;
    for (;;) {
        int64_t left = end - now_ns();
        if (!killed && left <= 0) {
            kill(pid, SIGKILL);
            killed = true;
        }
        struct timespec t = {left > 0 ? left / NS_PER_SEC : 0, left > 0 ? left % NS_PER_SEC : 0};
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (ppoll(&p, 1, killed ? NULL : &t, NULL) <= 0) {
            continue;
        }
        ssize_t got = read(fd, buf + n, sizeof(buf) - n);
        if (got == 0) {
            return;
        }
        n += got > 0 ? (size_t)got : 0;
        size_t used = 0;
        for (; n - used >= sizeof(struct record); used += sizeof(struct record)) {
            struct record r;
            memcpy(&r, buf + used, sizeof(r));
            take(&r);
        }
        memmove(buf, buf + used, n - used);
        n -= used;
    }
}

/* One child's life. Whether it was killed, as it should. */
static bool one_child(uint64_t seed, struct prng *r) {
    int fds[2];
    if (pipe(fds) == -1) {
        return false;
    }
    pid_t pid = fork();
    if (pid == 0) {
        close(fds[0]);
        report_fd = fds[1];
        child(seed);
    }
    close(fds[1]);
    watch(fds[0], pid, (int64_t)prng_below(r, 16 * NS_PER_MS));
    close(fds[0]);
    int status = 0;
    while (waitpid(pid, &status, 0) == -1 && errno == EINTR) {
    }
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

static const char *judge(void) {
    static char text[700];
    struct life l = {0};
    struct err err = {0};
    if (life_begin(&l, (struct store_options){.dir = dir}, &err) != 0) {
        snprintf(text, sizeof(text), "recovery failed: %s", err.text);
        return text;
    }
    const char *wrong = witness_check(&witness, l.m);
    witness_rebase(&witness, l.m);
    life_end(&l);
    return wrong;
}

static void clean(void) {
    static const char *const names[] = {"berth.db", "berth.db-wal", "berth.db-journal",
                                        "berth.mark", "lock"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        char path[PATH_MAX + 32];
        snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(dir);
}

int main(int argc, char **argv) {
    const char *tmp = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    if (getenv("TMPDIR")) {
        tmp = getenv("TMPDIR");
    }
    snprintf(dir, sizeof(dir), "%s/berth-kill9-XXXXXX", tmp);
    int64_t kills = 1000;
    if ((argc > 1 && !str_to_i64(str_of(argv[1]), &kills)) || mkdtemp(dir) == NULL) {
        return 2;
    }
    struct prng r;
    prng_seed(&r, (uint64_t)now_ns());
    for (int64_t i = 0; i < kills; i++) {
        bool killed = one_child((uint64_t)i + 1, &r);
        const char *wrong = killed ? judge() : "the child ended by itself";
        if (wrong) {
            printf("not ok - kill %lld: %s (the folder %s is kept)\n", (long long)i, wrong, dir);
            return 1;
        }
    }
    clean();
    printf("ok - %lld kills, %llu acknowledged writes, none lost\n", (long long)kills,
           (unsigned long long)witness.acks);
    return witness.acks ? 0 : 1;
}
