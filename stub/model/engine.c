/* engine: see engine.h. */
#include "engine.h"

#include "base/mem.h"

int engine_init(struct engine *e, const struct engine_options *o) {
    *e = (struct engine){.o = *o, .free = o->blocks};
    e->remembered = mem_array(o->blocks, sizeof(*e->remembered));
    return e->remembered ? 0 : -1;
}

void engine_release(struct engine *e) {
    mem_free(e->remembered);
    e->remembered = NULL;
}

static size_t blocks_of(const struct engine *e, size_t tokens) {
    return (tokens + e->o.block_tokens - 1) / e->o.block_tokens;
}

/* ---- those that wait ---- */

static void wait_first(struct engine *e, struct sequence *s) {
    s->waiting = true;
    s->prev = NULL;
    s->next = e->first;
    *(e->first ? &e->first->prev : &e->last) = s;
    e->first = s;
    e->n_waiting++;
}

static void wait_last(struct engine *e, struct sequence *s) {
    s->waiting = true;
    s->next = NULL;
    s->prev = e->last;
    *(e->last ? &e->last->next : &e->first) = s;
    e->last = s;
    e->n_waiting++;
}

static void wait_no_more(struct engine *e, struct sequence *s) {
    *(s->prev ? &s->prev->next : &e->first) = s->next;
    *(s->next ? &s->next->prev : &e->last) = s->prev;
    s->prev = s->next = NULL;
    s->waiting = false;
    e->n_waiting--;
}

static void stop_running(struct engine *e, struct sequence *s) {
    size_t i = 0;

    while (e->run[i] != s) {
        i++;
    }
    e->n_running--;
    for (; i < e->n_running; i++) {
        e->run[i] = e->run[i + 1];
    }
    e->free += s->blocks;
    s->blocks = s->done = s->chunk = 0;
    s->running = false;
}

bool engine_add(struct engine *e, struct sequence *s) {
    if (blocks_of(e, s->prompt + 1) > e->o.blocks) {
        return false;
    }
    s->want = s->prompt ? s->prompt : 1;
    wait_last(e, s);
    return true;
}

void engine_remove(struct engine *e, struct sequence *s) {
    if (s->running) {
        stop_running(e, s);
    } else if (s->waiting) {
        wait_no_more(e, s);
    }
}

/* ---- what was computed before ---- */

static uint64_t *place_of(struct engine *e, uint64_t hash) {
    return &e->remembered[hash % e->o.blocks];
}

static void look_up(struct engine *e, struct sequence *s) {
    size_t n = 0;

    while (n < s->n_hashes && *place_of(e, s->hashes[n]) == s->hashes[n]) {
        n++;
    }
    s->cached = n * e->o.block_tokens;
    s->cached = s->cached < s->want ? s->cached : s->want - 1; /* the last is computed always */
    s->done = s->cached;
    e->counts.prefix_queries += s->prompt;
    e->counts.prefix_hits += s->cached;
}

static void remember(struct engine *e, const struct sequence *s) {
    for (size_t i = 0; i < s->n_hashes; i++) {
        *place_of(e, s->hashes[i]) = s->hashes[i];
    }
}

/* ---- a step ---- */

static void preempt_last(struct engine *e) {
    struct sequence *s = e->run[e->n_running - 1];

    stop_running(e, s);
    s->want = s->prompt + s->generated;
    wait_first(e, s);
    e->counts.preemptions++;
}

/* A block for the next token; false: the sequence itself had to give up. */
static bool grow(struct engine *e, struct sequence *s) {
    while (s->running && blocks_of(e, s->prompt + s->generated + 1) > s->blocks) {
        if (e->free) {
            e->free--;
            s->blocks++;
        } else {
            preempt_last(e);
        }
    }
    return s->running;
}

/* The next that waits begins, where it fits. */
static bool admit(struct engine *e) {
    struct sequence *s = e->first;
    size_t need = s ? blocks_of(e, s->want + 1) : 0;

    if (s == NULL || need > e->free || e->n_running == e->o.sequences) {
        return false;
    }
    wait_no_more(e, s);
    e->free -= need;
    s->blocks = need;
    s->running = true;
    e->run[e->n_running++] = s;
    look_up(e, s);
    return true;
}

static size_t chunk_of(struct sequence *s, size_t left) {
    size_t rest = s->want - s->done;

    s->chunk = rest < left ? rest : left;
    return s->chunk;
}

int64_t engine_plan(struct engine *e) {
    uint64_t before = e->counts.preemptions;
    size_t left = e->o.step_tokens, prompts = 0;

    for (size_t i = 0; i < e->n_running; i++) {
        struct sequence *s = e->run[i];
        size_t n = 0;
        s->chunk = 0;
        if (s->done < s->want) {
            n = chunk_of(s, left);
            prompts += n;
        } else if (left && grow(e, s)) {
            n = s->chunk = 1;
        }
        left -= n;
    }
    while (left && e->counts.preemptions == before && admit(e)) {
        size_t n = chunk_of(e->run[e->n_running - 1], left);
        prompts += n;
        left -= n;
    }
    if (e->n_running == 0) {
        return 0;
    }
    double s = 1 / e->o.decode_tps + (double)e->n_running * e->o.sequence_s +
               (double)prompts / e->o.prefill_tps;
    return (int64_t)(s * 1e9) + 1;
}

void engine_end(struct engine *e, void (*token)(void *ctx, struct sequence *s), void *ctx) {
    struct sequence *got[ENGINE_SEQUENCES_MAX];
    size_t n = 0;

    for (size_t i = 0; i < e->n_running; i++) {
        struct sequence *s = e->run[i];
        bool prompt = s->done < s->want;
        s->done += prompt ? s->chunk : 0;
        if (prompt) {
            e->counts.prompt_tokens += s->chunk;
        }
        if (prompt && s->done == s->want) {
            remember(e, s);
        }
        if (s->chunk && s->done == s->want) {
            got[n++] = s;
        }
        s->chunk = 0;
    }
    e->counts.steps++;
    for (size_t i = 0; i < n; i++) {
        got[i]->generated++;
        e->counts.generated_tokens++;
        token(ctx, got[i]);
    }
}

double engine_usage(const struct engine *e) {
    return (double)(e->o.blocks - e->free) / (double)e->o.blocks;
}
