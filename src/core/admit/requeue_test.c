/* requeue: every case of the table against the rules as prose has them, and the document against the table. */
#include "core/admit/requeue.h"

#include <stdio.h>
#include <string.h>

#include "base/test.h"

struct situation {
    enum outcome outcome;
    enum requeue_round round;
    enum requeue_news news;
    enum requeue_policy policy;
    bool left, missed, sought, strict, seeks, again, no_place, its_own;
};

static struct situation situation_of(int o, int r, int n, int p) {
    return (struct situation){
        .outcome = o,
        .round = r,
        .news = n,
        .policy = p,
        .left = r == REQUEUE_LEFT || r == REQUEUE_LEFT_MISSED,
        .missed =
            r == REQUEUE_LEFT_MISSED || r == REQUEUE_DONE_MISSED || r == REQUEUE_SOUGHT_MISSED,
        .sought = r == REQUEUE_SOUGHT || r == REQUEUE_SOUGHT_MISSED,
        .strict = p == REQUEUE_STRICT || p == REQUEUE_STRICT_SEEKS,
        .seeks = p == REQUEUE_BEST_EFFORT_SEEKS || p == REQUEUE_STRICT_SEEKS,
        .again = o == OUTCOME_AGAIN || o == OUTCOME_PREEMPTING || o == OUTCOME_DEFERRED,
        .no_place = o == OUTCOME_NO_PLACE,
        .its_own = o == OUTCOME_GATED || o == OUTCOME_FAILED_CHECKS || o == OUTCOME_REFUSED};
}

/* Where it goes, step by step. */
static enum requeue_place place_of(const struct situation *s) {
    bool missed = s->missed || s->no_place;
    bool asked = s->sought || (s->no_place && !s->missed);
    if (!s->again && !s->left && missed && !asked && s->seeks) {
        return REQUEUE_TO_HEAP_SEEKING;
    }
    if (s->again || s->left || s->strict) {
        return missed && !s->left ? REQUEUE_TO_HEAP_PLACED : REQUEUE_TO_HEAP;
    }
    if (s->its_own) {
        return REQUEUE_TO_ALONE;
    }
    if (s->news == REQUEUE_OUTRUN || (s->news == REQUEUE_FREED && !s->no_place)) {
        return REQUEUE_TO_HEAP_ANEW;
    }
    return missed ? REQUEUE_TO_ALIKE_PLACED : REQUEUE_TO_ALIKE;
}

static void check(const struct requeue_index *x, const struct situation *s) {
    struct requeue got = requeue_decide(x, s->outcome, s->round, s->news, s->policy);
    bool told = !s->missed || s->no_place;
    bool keeps = s->outcome == OUTCOME_PREEMPTING || s->outcome == OUTCOME_AGAIN || s->left;
    if (got.to != place_of(s) || got.told != told || got.keeps_places != keeps) {
        fail_msg("outcome %d, round %d, news %d, policy %d: goes to %d, told %d, keeps %d",
                 (int)s->outcome, (int)s->round, (int)s->news, (int)s->policy, (int)got.to,
                 got.told, got.keeps_places);
    }
}

static void all_cases(void **state) {
    bool used[64] = {false};
    struct requeue_index x;
    requeue_index_init(&x);
    assert_true(requeue_rows() <= 64);
    for (int o = OUTCOME_NO_FIT; o < OUTCOMES; o++) {
        for (int i = 0; i < REQUEUE_ROUNDS * REQUEUE_NEWS * REQUEUE_POLICIES; i++) {
            int r = i % REQUEUE_ROUNDS, n = i / REQUEUE_ROUNDS % REQUEUE_NEWS;
            int p = i / REQUEUE_ROUNDS / REQUEUE_NEWS;
            struct situation s = situation_of(o, r, n, p);
            check(&x, &s);
            used[requeue_row_of(o, r, n, p)] = true;
        }
    }
    for (size_t i = 0; i < requeue_rows(); i++) {
        assert_true(used[i]); /* no row is hidden by those before it */
    }
}

static void as_documented(void **state) {
    struct buf doc, table;
    char bytes[4096];
    size_t n;
    FILE *f = fopen(BERTH_DOCS "/workloads.md", "r");
    assert_non_null(f);
    buf_init(&doc, 1 << 20);
    buf_init(&table, 1 << 20);
    while ((n = fread(bytes, 1, sizeof(bytes), f)) > 0) {
        buf_add(&doc, bytes, n);
    }
    fclose(f);
    requeue_print(&table);
    if (strstr(buf_cstr(&doc), buf_cstr(&table)) == NULL) {
        fputs(buf_cstr(&table), stdout);
        fail_msg("docs/workloads.md does not have the table above");
    }
    buf_release(&doc);
    buf_release(&table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_cases),
        cmocka_unit_test(as_documented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
