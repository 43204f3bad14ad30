/*
 * Properties of the engine, over thousands of random lives. With a file as argument that case alone is run.
 *
 * Each case runs in a child, so that an assert costs one case and not the test; when one fails, events are left
 * out of it as long as it still fails, and what is left is printed.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/prng.h"
#include "base/test.h"
#include "core/test/property.h"

enum { SEEDS = 3000 };

struct shared {
    uint64_t seed;
    struct property_result result;
    size_t admitted, preempted, endless, rested, asked;
};

/* The same events, the same decisions; in steps of any size, when no event comes in the middle of one. */
static void check(const struct property_case *c, struct property_result *ret) {
    struct property_result again;
    static const size_t budgets[] = {0, 1, 3};
    bool parts = false;
    property_run(c, 0, BREAK_AS_DRAWN, ret);
    for (size_t i = 0; i < c->n; i++) {
        parts = parts || c->v[i].kind == EV_RUN_PART;
    }
    for (size_t i = 0; i < (parts ? 1 : 3) && ret->failure[0] == '\0'; i++) {
        property_run(c, budgets[i], BREAK_AS_DRAWN, &again);
        if (again.failure[0] != '\0') {
            *ret = again;
        } else if (again.decisions != ret->decisions) {
            snprintf(ret->failure, sizeof(ret->failure),
                     "the same events, other decisions (budget %zu)", budgets[i]);
        }
    }
}

/* Runs f in a child. False: it failed, or did not live to say. */
static bool in_child(void (*f)(struct shared *, const void *), const void *arg, struct shared *s) {
    fflush(stdout);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        static const int signals[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL};
        for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
            signal(signals[i], SIG_DFL); /* not cmocka's: it would go on in the child */
        }
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        f(s, arg);
        _exit(s->result.failure[0] != '\0');
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status) || WEXITSTATUS(status) > 1) {
        snprintf(s->result.failure, sizeof(s->result.failure), "it crashed (status %d)", status);
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void check_in_child(struct shared *s, const void *arg) {
    alarm(20);
    if (freopen("/dev/null", "w", stderr) != NULL) {
        check(arg, &s->result);
    }
}

static void check_seeds(struct shared *s, const void *arg) {
    const uint64_t *range = arg;
    for (s->seed = range[0]; s->seed < range[1]; s->seed++) {
        struct property_case c;
        alarm(20);
        property_draw(&c, s->seed);
        check(&c, &s->result);
        if (s->result.failure[0] != '\0') {
            return;
        }
        s->admitted += s->result.admitted;
        s->preempted += s->result.preempted;
        s->endless += s->result.endless;
        s->rested += !s->result.endless;
        s->asked += s->result.asked;
    }
}

static bool fails(const struct property_case *c, struct shared *s) {
    s->result = (struct property_result){0};
    return !in_child(check_in_child, c, s);
}

/* Leaves out what is not needed to fail: runs of events, ever shorter ones. */
static void shrink(struct property_case *c, struct shared *s) {
    for (size_t step = c->n / 2 > 0 ? c->n / 2 : 1; step > 0; step /= 2) {
        for (size_t at = 0; at < c->n;) {
            struct property_case less = *c;
            size_t cut = at + step < c->n ? step : c->n - at;
            memmove(&less.v[at], &less.v[at + cut], (c->n - at - cut) * sizeof(less.v[0]));
            less.n -= cut;
            if (fails(&less, s)) {
                *c = less;
            } else {
                at += cut;
            }
        }
    }
}

static struct shared *shared_new(void) {
    struct shared *s =
        mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(s != MAP_FAILED);
    return s;
}

static void report(struct property_case *c, struct shared *s) {
    shrink(c, s);
    fails(c, s);
    print_error("seed %llu: %s\n", (unsigned long long)s->seed, s->result.failure);
    property_print(c, stderr);
}

static void all_hold(void **state) {
    struct shared *s = shared_new();
    const char *from = getenv("BERTH_PROPERTY_SEED"), *n = getenv("BERTH_PROPERTY_COUNT");
    uint64_t range[2] = {from != NULL ? strtoull(from, NULL, 10) : 1, 0};
    range[1] = range[0] + (n != NULL ? strtoull(n, NULL, 10) : SEEDS);
    if (!in_child(check_seeds, range, s)) {
        struct property_case c;
        property_draw(&c, s->seed);
        report(&c, s);
        fail();
    }
    printf("%zu admitted, %zu evicted; %zu came to rest, of which %zu with all parked; %zu went "
           "round\n",
           s->admitted, s->preempted, s->rested, s->asked, s->endless);
    assert_true(n != NULL || (s->admitted > SEEDS &&
                              s->preempted > SEEDS / 4)); /* the cases are worth something */
    munmap(s, sizeof(*s));
}

static int one_file(const char *path) {
    struct property_case c;
    struct property_result r = {0};
    FILE *in = fopen(path, "re");
    if (in == NULL || !property_read(&c, in)) {
        fprintf(stderr, "%s: not a case\n", path);
        return 2;
    }
    fclose(in);
    property_trace = stdout;
    property_run(&c, 0, BREAK_AS_DRAWN, &r);
    property_trace = NULL;
    check(&c, &r);
    printf("%s\n", r.failure[0] != '\0' ? r.failure : r.endless ? "it goes round" : "all holds");
    return r.failure[0] != '\0';
}

int main(int argc, char **argv) {
    if (argc > 1) {
        return one_file(argv[1]);
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_hold)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
