/*
 * regex: from the tree to a program, and the machine that runs it over a text. See regex.h.
 *
 * The machine is a list of threads in order of preference, all at the same character; a thread is a place in the
 * program and where its match began. Each place is in the list at most once, so a character costs at most the program.
 */
#include "wire/text/regex.h"

#include "base/limits.h"
#include "base/mem.h"
#include "wire/text/regex_private.h"
#include "wire/text/unicode_category.h"

struct regex_builder {
    struct arena *a;
    struct regex_inst *v;
    size_t n, cap;
    /* Of nodes: an empty one in counted repeats is visited often and leaves no instruction */
    size_t visits;
    struct err *err;
    int code;
};

static void too_large(struct regex_builder *b) {
    b->code = err_set(b->err, ERR_TOO_LARGE, "the expression is too large");
    b->n = 0; /* what follows is thrown away */
}

static uint32_t emit(struct regex_builder *b, struct regex_inst in) {
    if (b->n == b->cap && b->code == 0) {
        size_t cap = b->cap ? b->cap * 2 : 64;
        struct regex_inst *v =
            b->n < LIMIT_REGEX_INSTS ? ARENA_ARRAY(b->a, struct regex_inst, cap) : NULL;
        if (v == NULL) {
            too_large(b);
            return 0;
        }
        if (b->n > 0) {
            memcpy(v, b->v, b->n * sizeof(*v));
        }
        b->v = v;
        b->cap = cap;
    }
    if (b->code != 0) {
        return 0;
    }
    b->v[b->n] = in;
    return (uint32_t)b->n++;
}

static void build(struct regex_builder *b, const struct regex_node *n);

static void aim(struct regex_builder *b, uint32_t split, bool lazy, uint32_t in, uint32_t out) {
    if (b->code == 0) {
        b->v[split].x = lazy ? out : in;
        b->v[split].y = lazy ? in : out;
    }
}

static void build_repeat(struct regex_builder *b, const struct regex_node *n) {
    struct regex_inst split = {.op = REGEX_SPLIT};
    for (int i = 0; i < n->min && b->code == 0; i++) {
        build(b, n->a);
    }
    if (n->max < 0) {
        uint32_t s = emit(b, split);
        build(b, n->a);
        (void)emit(b, (struct regex_inst){.op = REGEX_JUMP, .x = s});
        aim(b, s, n->lazy, s + 1, (uint32_t)b->n);
        return;
    }
    /* Each more is nested in the one before: a{0,2} is (a(a)?)?. Their ends are one, known when all are there. */
    uint32_t last = UINT32_MAX;
    for (int i = n->min; i < n->max && b->code == 0; i++) {
        uint32_t s = emit(b, split);
        if (b->code == 0) {
            b->v[s].y = last;
            last = s;
        }
        build(b, n->a);
    }
    while (last != UINT32_MAX && b->code == 0) {
        uint32_t s = last;
        last = b->v[s].y;
        aim(b, s, n->lazy, s + 1, (uint32_t)b->n);
    }
}

static void build(struct regex_builder *b, const struct regex_node *n) {
    if (b->code == 0 && ++b->visits > LIMIT_REGEX_VISITS) {
        too_large(b);
    }
    if (b->code != 0) {
        return;
    }
    switch (n->type) {
    case NODE_EMPTY:
        return;
    case NODE_CLASS:
        (void)emit(b, (struct regex_inst){
                          .op = REGEX_CLASS, .negated = n->negated, .x = n->first, .y = n->n});
        return;
    case NODE_ASSERT:
        (void)emit(b, (struct regex_inst){.op = REGEX_ASSERT, .x = n->check});
        return;
    case NODE_CAT:
        build(b, n->a);
        build(b, n->b);
        return;
    case NODE_ALT: {
        uint32_t s = emit(b, (struct regex_inst){.op = REGEX_SPLIT});
        build(b, n->a);
        uint32_t j = emit(b, (struct regex_inst){.op = REGEX_JUMP});
        aim(b, s, false, s + 1, (uint32_t)b->n);
        build(b, n->b);
        if (b->code == 0) {
            b->v[j].x = (uint32_t)b->n;
        }
        return;
    }
    case NODE_REPEAT:
        build_repeat(b, n);
        return;
    }
}

int regex_new(struct arena *a, struct str pattern, struct regex **ret, struct err *err) {
    struct regex_ranges ranges = {0};
    struct regex_node *tree;
    struct regex_builder b = {.a = a, .err = err};
    struct regex *re = ARENA_NEW(a, struct regex);
    int r = re == NULL ? err_set(err, ERR_NOMEM, "out of memory")
                       : regex_parse(a, pattern, &ranges, &tree, err);
    if (r != 0) {
        return r;
    }
    build(&b, tree);
    (void)emit(&b, (struct regex_inst){.op = REGEX_MATCH});
    (void)arena_charge(a, 4 * pattern.n + 2 * b.visits);
    if (b.code != 0) {
        return b.code;
    }
    *re = (struct regex){b.v, b.n, ranges.v, ranges.n};
    *ret = re;
    return 0;
}

/* ---- the machine ---- */

struct thread {
    uint32_t at;
    size_t start;
};

struct threads {
    struct thread *v; /* in order of preference */
    size_t n;
    uint32_t *index; /* of a place in v, when v agrees */
};

struct regex_machine {
    const struct regex *re;
    struct str text;
    uint32_t *stack;
    size_t steps, steps_max;
};

static bool is_word(struct str s, size_t i) {
    unsigned char c = i < s.n ? (unsigned char)s.p[i] : 0;
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

static bool holds(enum regex_assert check, struct str s, size_t at) {
    bool word = (at > 0 && is_word(s, at - 1)) != is_word(s, at);
    switch (check) {
    case ASSERT_TEXT_START:
        return at == 0;
    case ASSERT_TEXT_END:
        return at == s.n;
    case ASSERT_LINE_START:
        return at == 0 || s.p[at - 1] == '\n';
    case ASSERT_LINE_END:
        return at == s.n || s.p[at] == '\n';
    case ASSERT_WORD:
        return word;
    case ASSERT_NOT_WORD:
        return !word;
    }
    return false;
}

static bool has(const struct threads *t, uint32_t at) {
    return t->index[at] < t->n && t->v[t->index[at]].at == at;
}

/* Adds the place and all that it leads to without a character. */
static void add(struct regex_machine *m, struct threads *t, uint32_t at, size_t pos, size_t start) {
    size_t n = 0;
    m->stack[n++] = at;
    while (n > 0) {
        uint32_t i = m->stack[--n];
        if (has(t, i)) {
            continue;
        }
        m->steps++;
        t->index[i] = (uint32_t)t->n;
        t->v[t->n++] = (struct thread){i, start};
        const struct regex_inst *in = &m->re->insts[i];
        if (in->op == REGEX_SPLIT) {
            m->stack[n++] = in->y;
            m->stack[n++] = in->x;
        } else if (in->op == REGEX_JUMP) {
            m->stack[n++] = in->x;
        } else if (in->op == REGEX_ASSERT && holds((enum regex_assert)in->x, m->text, pos)) {
            m->stack[n++] = i + 1;
        }
    }
}

/* Not `in != opposite`: GCC 12 makes `in` of that when it optimizes. */
static bool in_categories(uint32_t set, uint32_t c) {
    bool in = (set & UINT32_C(1) << unicode_category(c)) != 0;
    return (set & REGEX_OPPOSITE) != 0 ? !in : in;
}

static bool in_class(const struct regex *re, const struct regex_inst *in, uint32_t c) {
    for (uint32_t i = 0; i < in->y; i++) {
        const struct regex_range *r = &re->ranges[in->x + i];
        if (r->lo == REGEX_CATEGORIES ? in_categories(r->hi, c) : c >= r->lo && c <= r->hi) {
            return !in->negated;
        }
    }
    return in->negated;
}

static bool threads_init(struct threads *t, size_t n) {
    t->v = mem_alloc(n * sizeof(*t->v));
    t->index = mem_array(n, sizeof(*t->index));
    t->n = 0;
    return t->v != NULL && t->index != NULL;
}

static void threads_release(struct threads *t) {
    mem_free(t->v);
    mem_free(t->index);
}

/* Moves all threads over one character; a match ends the less preferred ones. */
static bool step(struct regex_machine *m, struct threads *now, struct threads *next, uint32_t c,
                 size_t pos, size_t after, size_t *ret_start, bool *cut) {
    next->n = 0;
    *cut = false;
    for (size_t i = 0; i < now->n; i++) {
        const struct regex_inst *in = &m->re->insts[now->v[i].at];
        if (in->op == REGEX_MATCH) {
            *ret_start = now->v[i].start;
            *cut = true;
            (void)pos;
            return true;
        }
        if (in->op == REGEX_CLASS) {
            m->steps += 1 + in->y / 4;
            if (after > pos && in_class(m->re, in, c)) {
                add(m, next, now->v[i].at + 1, after, now->v[i].start);
            }
        }
    }
    return false;
}

static int run(struct regex_machine *m, struct threads *t, size_t from, bool any, size_t *ret_start,
               size_t *ret_end) {
    const char *end = m->text.p + m->text.n;
    struct threads *now = &t[0], *next = &t[1];
    int found = 0;
    for (size_t pos = from;;) {
        size_t n = 0;
        bool cut;
        uint32_t c = pos < m->text.n ? regex_char(m->text.p + pos, end, &n) : 0;
        if (!found) {
            add(m, now, 0, pos, pos);
        }
        if (step(m, now, next, c, pos, pos + n, ret_start, &cut)) {
            found = 1;
            *ret_end = pos;
        }
        if (m->steps > m->steps_max) {
            return ERR_TOO_LARGE;
        }
        if (n == 0 || (found && (any || next->n == 0))) {
            return found;
        }
        struct threads *swap = now;
        now = next;
        next = swap;
        pos += n;
    }
}

static int match(const struct regex *re, struct str text, size_t from, bool any, size_t *steps,
                 size_t *ret_start, size_t *ret_end) {
    struct regex_machine m = {
        .re = re, .text = text.p != NULL ? text : STR(""), .steps_max = *steps};
    struct threads t[2] = {0};
    if (*steps == 0) {
        return ERR_TOO_LARGE; /* an empty budget pays for no start either */
    }
    m.stack = mem_alloc((re->n_insts * 2 + 2) * sizeof(*m.stack));
    bool room = m.stack != NULL;
    room = threads_init(&t[0], re->n_insts) && room;
    room = threads_init(&t[1], re->n_insts) && room;
    int r = room ? run(&m, t, from, any, ret_start, ret_end) : ERR_NOMEM;
    threads_release(&t[0]);
    threads_release(&t[1]);
    mem_free(m.stack);
    m.steps += re->n_insts / 16; /* for the room that it took */
    *steps -= m.steps < *steps ? m.steps : *steps;
    return r;
}

int regex_matches(const struct regex *re, struct str text, size_t *steps) {
    size_t start, end;
    return match(re, text, 0, true, steps, &start, &end);
}

int regex_find(const struct regex *re, struct str text, size_t from, size_t *steps,
               size_t *ret_start, size_t *ret_end) {
    return match(re, text, from, false, steps, ret_start, ret_end);
}
