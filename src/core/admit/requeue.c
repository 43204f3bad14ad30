/* requeue (core): see requeue.h. */
#include "core/admit/requeue.h"

#include <assert.h>

enum {
    ANY = ~0,
    NO_QUOTA = 1 << OUTCOME_NO_FIT | 1 << OUTCOME_NO_CANDIDATES,
    NO_PLACE = 1 << OUTCOME_NO_PLACE,
    ITS_OWN = 1 << OUTCOME_GATED | 1 << OUTCOME_FAILED_CHECKS | 1 << OUTCOME_REFUSED,
    PREEMPTING = 1 << OUTCOME_PREEMPTING,
    DEFERRED = 1 << OUTCOME_DEFERRED,
    AGAIN = 1 << OUTCOME_AGAIN,
    LEFT = 1 << REQUEUE_LEFT,
    LEFT_MISSED = 1 << REQUEUE_LEFT_MISSED,
    DONE = 1 << REQUEUE_DONE | 1 << REQUEUE_SOUGHT,
    DONE_MISSED = 1 << REQUEUE_DONE_MISSED,
    OVER_MISSED = DONE_MISSED | 1 << REQUEUE_SOUGHT_MISSED,
    OUTRUN = 1 << REQUEUE_OUTRUN,
    NEWS = 1 << REQUEUE_FREED | OUTRUN,
    SEEKS = 1 << REQUEUE_BEST_EFFORT_SEEKS | 1 << REQUEUE_STRICT_SEEKS,
    STRICT = 1 << REQUEUE_STRICT | 1 << REQUEUE_STRICT_SEEKS
};

/* clang-format off */
static const struct requeue_row {
    int outcomes, rounds, news, policies; /* sets */
    struct requeue to;
} rows[] = {
    /* Victims are on their way out, or others of the cycle were first */
    {PREEMPTING | AGAIN, LEFT | DONE, ANY,    ANY,    {REQUEUE_TO_HEAP, true, true}},
    {PREEMPTING | AGAIN, LEFT_MISSED, ANY,    ANY,    {REQUEUE_TO_HEAP, false, true}},
    {PREEMPTING | AGAIN, OVER_MISSED, ANY,    ANY,    {REQUEUE_TO_HEAP_PLACED, false, true}},
    {DEFERRED,           DONE,        ANY,    ANY,    {REQUEUE_TO_HEAP, true, false}},
    {DEFERRED,           OVER_MISSED, ANY,    ANY,    {REQUEUE_TO_HEAP_PLACED, false, false}},
    /* The next flavor is tried in the next cycle */
    {ANY,                LEFT,        ANY,    ANY,    {REQUEUE_TO_HEAP, true, true}},
    {NO_PLACE,           LEFT_MISSED, ANY,    ANY,    {REQUEUE_TO_HEAP, true, true}},
    {ANY,                LEFT_MISSED, ANY,    ANY,    {REQUEUE_TO_HEAP, false, true}},
    /* All flavors were looked at for room, and some had no place: once more, and now victims may go for a place */
    {NO_PLACE,           DONE_MISSED, ANY,    SEEKS,  {REQUEUE_TO_HEAP_SEEKING, true, false}},
    {ANY,                DONE_MISSED, ANY,    SEEKS,  {REQUEUE_TO_HEAP_SEEKING, false, false}},
    /* It keeps its queue waiting */
    {NO_PLACE,           ANY,         ANY,    STRICT, {REQUEUE_TO_HEAP_PLACED, true, false}},
    {ANY,                DONE,        ANY,    STRICT, {REQUEUE_TO_HEAP, true, false}},
    {ANY,                OVER_MISSED, ANY,    STRICT, {REQUEUE_TO_HEAP_PLACED, false, false}},
    /* It lets its queue pass */
    {ITS_OWN,            DONE,        ANY,    ANY,    {REQUEUE_TO_ALONE, true, false}},
    {ITS_OWN,            ANY,         ANY,    ANY,    {REQUEUE_TO_ALONE, false, false}},
    {NO_PLACE,           ANY,         OUTRUN, ANY,    {REQUEUE_TO_HEAP_ANEW, true, false}},
    {NO_PLACE,           ANY,         ANY,    ANY,    {REQUEUE_TO_ALIKE_PLACED, true, false}},
    {NO_QUOTA,           DONE,        NEWS,   ANY,    {REQUEUE_TO_HEAP_ANEW, true, false}},
    {NO_QUOTA,           ANY,         NEWS,   ANY,    {REQUEUE_TO_HEAP_ANEW, false, false}},
    {NO_QUOTA,           DONE,        ANY,    ANY,    {REQUEUE_TO_ALIKE, true, false}},
    {NO_QUOTA,           ANY,         ANY,    ANY,    {REQUEUE_TO_ALIKE_PLACED, false, false}},
};
/* clang-format on */

size_t requeue_rows(void) {
    return sizeof(rows) / sizeof(rows[0]);
}

size_t requeue_row_of(enum outcome outcome, enum requeue_round round, enum requeue_news news,
                      enum requeue_policy policy) {
    size_t i = 0;
    while (i < requeue_rows() && !(rows[i].outcomes & 1 << outcome && rows[i].rounds & 1 << round &&
                                   rows[i].news & 1 << news && rows[i].policies & 1 << policy)) {
        i++;
    }
    assert(i < requeue_rows());
    return i;
}

void requeue_index_init(struct requeue_index *x) {
    for (int o = OUTCOME_NO_FIT; o < OUTCOMES; o++) {
        for (int i = 0; i < REQUEUE_ROUNDS * REQUEUE_NEWS * REQUEUE_POLICIES; i++) {
            int r = i % REQUEUE_ROUNDS, n = i / REQUEUE_ROUNDS % REQUEUE_NEWS;
            int p = i / REQUEUE_ROUNDS / REQUEUE_NEWS;
            x->row[o][r][n][p] = (unsigned char)requeue_row_of(o, r, n, p);
        }
    }
}

struct requeue requeue_decide(const struct requeue_index *x, enum outcome outcome,
                              enum requeue_round round, enum requeue_news news,
                              enum requeue_policy policy) {
    return rows[x->row[outcome][round][news][policy]].to;
}

/* ---- in words ---- */

static const char *const outcome_words[] = {
    [OUTCOME_NO_FIT] = "does not fit",
    [OUTCOME_NO_CANDIDATES] = "no victims",
    [OUTCOME_NO_PLACE] = "no place",
    [OUTCOME_GATED] = "gated",
    [OUTCOME_FAILED_CHECKS] = "checks fail",
    [OUTCOME_REFUSED] = "refused",
    [OUTCOME_PREEMPTING] = "preempting",
    [OUTCOME_DEFERRED] = "deferred",
    [OUTCOME_AGAIN] = "again",
};
static const char *const round_words[REQUEUE_ROUNDS] = {
    [REQUEUE_LEFT] = "left",     [REQUEUE_LEFT_MISSED] = "left, place missed",
    [REQUEUE_DONE] = "done",     [REQUEUE_DONE_MISSED] = "done, place missed",
    [REQUEUE_SOUGHT] = "sought", [REQUEUE_SOUGHT_MISSED] = "sought, place missed",
};
static const char *const news_words[REQUEUE_NEWS] = {
    [REQUEUE_NO_NEWS] = "none",
    [REQUEUE_FREED] = "freed",
    [REQUEUE_OUTRUN] = "outrun",
};
static const char *const policy_words[REQUEUE_POLICIES] = {
    [REQUEUE_BEST_EFFORT] = "BestEffortFIFO",
    [REQUEUE_BEST_EFFORT_SEEKS] = "BestEffortFIFO, seeks",
    [REQUEUE_STRICT] = "StrictFIFO",
    [REQUEUE_STRICT_SEEKS] = "StrictFIFO, seeks",
};
static const char *const place_words[] = {
    [REQUEUE_TO_HEAP] = "back",
    [REQUEUE_TO_HEAP_PLACED] = "back, woken by places",
    [REQUEUE_TO_HEAP_SEEKING] = "back, seeking",
    [REQUEUE_TO_HEAP_ANEW] = "back, anew",
    [REQUEUE_TO_ALONE] = "parked alone",
    [REQUEUE_TO_ALIKE] = "parked with its likes",
    [REQUEUE_TO_ALIKE_PLACED] = "parked with its likes, woken by places",
};

static void set_print(int set, const char *const *words, size_t n, struct buf *out) {
    bool any = false;
    buf_c(out, " ");
    for (size_t i = 0; i < n && set != ANY; i++) {
        if (words[i] != NULL && set & 1 << i) {
            buf_f(out, "%s%s", any ? "; " : "", words[i]);
            any = true;
        }
    }
    buf_c(out, set == ANY ? "any |" : " |");
}

void requeue_print(struct buf *out) {
    buf_c(out, "| outcome | round | news | queue | goes | told | places kept |\n"
               "|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < requeue_rows(); i++) {
        const struct requeue_row *r = &rows[i];
        buf_c(out, "|");
        set_print(r->outcomes, outcome_words, sizeof(outcome_words) / sizeof(*outcome_words), out);
        set_print(r->rounds, round_words, REQUEUE_ROUNDS, out);
        set_print(r->news, news_words, REQUEUE_NEWS, out);
        set_print(r->policies, policy_words, REQUEUE_POLICIES, out);
        buf_f(out, " %s | %s | %s |\n", place_words[r->to.to], r->to.told ? "yes" : "no",
              r->to.keeps_places ? "yes" : "no");
    }
}
