/* calendar_journal (core): the mutators of the calendar, and what they did, to be taken back. */
#include "core/calendar/calendar_private.h"

size_t cal_mark(const struct calendar *c) {
    return c->journal.n;
}

static int32_t slack_of(const struct card *card, uint8_t placement) {
    return placement == SPAN_CLOSED ? (card->class->set.slices > 0 ? card->class->set.slices : 1)
                                    : class_size(card->class, placement);
}

/* Only what the step itself made: others may need the jumps that come to nothing, to be taken back. */
static void drop_made(struct steps *s, unsigned made, const struct span *x) {
    if ((made & 1) != 0) {
        steps_drop(s, x->start);
    }
    if ((made & 2) != 0) {
        steps_drop(s, x->end);
    }
}

static int span_in(struct calendar *c, struct card *card, const struct span *x, bool still,
                   unsigned *ret_made) {
    int32_t size = slack_of(card, x->placement);
    int r = still ? 0 : steps_add(&card->flavor->slack, x->start, x->end, -size, ret_made);
    if (r != 0) {
        return r;
    }
    r = spans_insert(&card->spans, &c->store, x);
    if (r != 0 && !still) {
        steps_sub(&card->flavor->slack, x->start, x->end, -size);
        drop_made(&card->flavor->slack, *ret_made, x);
    }
    return r;
}

static void span_out(struct calendar *c, struct card *card, const struct span *x, bool still) {
    if (!still) {
        steps_sub(&card->flavor->slack, x->start, x->end, -slack_of(card, x->placement));
    }
    (void)spans_remove(&card->spans, &c->store, x);
}

static struct span span_of(const struct entry *e, size_t unit, uint8_t placement) {
    return (struct span){.start = e->start,
                         .end = e->end,
                         .entry = e->number,
                         .unit = (uint16_t)unit,
                         .placement = placement,
                         .together = e->n_lines > 0 && e->lines[e->units.v[unit].line].same_node};
}

int cal_add(struct calendar *c, struct entry *e, size_t unit, struct card *card,
            uint8_t placement) {
    struct op op = {.kind = OP_ADD,
                    .still = c->still,
                    .card = card,
                    .count = e->units.v[unit].count,
                    .span = span_of(e, unit, placement)};
    int r = ops_room(&c->journal, 1);
    r = r != 0 ? r : span_in(c, card, &op.span, op.still, &op.made);
    if (r != 0) {
        return r;
    }
    e->units.v[unit].card = card;
    e->units.v[unit].placement = placement;
    e->units.v[unit].count = 1;
    return ops_push(&c->journal, op);
}

int cal_del(struct calendar *c, struct entry *e, size_t unit) {
    struct unit *u = &e->units.v[unit];
    struct op op = {
        .kind = OP_DEL, .still = c->still, .card = u->card, .span = span_of(e, unit, u->placement)};
    int r = ops_room(&c->journal, 1);
    r = r != 0 ? r : spans_reserve(&u->card->spans, &c->store, c->dels + 2);
    r = r != 0 ? r : ranges_push(&c->forgotten, (struct range){u->card, e->start, e->end});
    if (r != 0) {
        return r;
    }
    cover_forget(u->card, e->start, e->end);
    span_out(c, u->card, &op.span, op.still);
    c->dels++;
    u->card = NULL;
    return ops_push(&c->journal, op);
}

int cal_use(struct calendar *c, struct entry *e, size_t unit, struct pool_of *pool, int64_t count) {
    struct op op = {.kind = OP_USE, .pool = pool, .count = count, .span = span_of(e, unit, 0)};
    int r = ops_room(&c->journal, 1);
    r = r != 0 ? r : steps_add(&pool->slack, e->start, e->end, -count, &op.made);
    if (r != 0) {
        return r;
    }
    e->units.v[unit].pool = pool;
    e->units.v[unit].count = count;
    return ops_push(&c->journal, op);
}

int cal_unuse(struct calendar *c, struct entry *e, size_t unit) {
    struct unit *u = &e->units.v[unit];
    struct op op = {
        .kind = OP_UNUSE, .pool = u->pool, .count = u->count, .span = span_of(e, unit, 0)};
    int r = ops_room(&c->journal, 1);
    if (r != 0) {
        return r;
    }
    steps_sub(&u->pool->slack, e->start, e->end, -u->count);
    u->pool = NULL;
    return ops_push(&c->journal, op);
}

void cal_release(struct calendar *c, struct entry *e) {
    for (size_t i = 0; i < e->units.n; i++) {
        struct unit *u = &e->units.v[i];
        struct steps *s = u->card != NULL   ? &u->card->flavor->slack
                          : u->pool != NULL ? &u->pool->slack
                                            : NULL;
        if (u->card != NULL) {
            struct span x = span_of(e, i, u->placement);
            cover_forget(u->card, x.start, x.end);
            span_out(c, u->card, &x, false);
            cover_learn(u->card, x.start, x.end);
        } else if (u->pool != NULL) {
            steps_sub(s, e->start, e->end, -u->count);
        }
        if (s != NULL) {
            steps_drop(s, e->start);
            steps_drop(s, e->end);
        }
        u->card = NULL;
        u->pool = NULL;
    }
}

static void undo_one(struct calendar *c, const struct op *op) {
    struct entry *e = cal_entry(c, op->span.entry);
    struct unit *u = &e->units.v[op->span.unit];
    switch (op->kind) {
    case OP_ADD:
        span_out(c, op->card, &op->span, op->still);
        drop_made(&op->card->flavor->slack, op->made, &op->span);
        u->card = NULL;
        u->count = op->count;
        break;
    case OP_DEL:
        /* room was kept, jumps are there */
        (void)span_in(c, op->card, &op->span, op->still, &(unsigned){0});
        c->dels--;
        u->card = op->card;
        u->placement = op->span.placement;
        break;
    case OP_USE:
        steps_sub(&op->pool->slack, op->span.start, op->span.end, -op->count);
        drop_made(&op->pool->slack, op->made, &op->span);
        u->pool = NULL;
        break;
    case OP_UNUSE:
        (void)steps_add(&op->pool->slack, op->span.start, op->span.end, -op->count, &(unsigned){0});
        u->pool = op->pool;
        u->count = op->count;
        break;
    }
}

/* The trial is over: what was forgotten in it is looked at again. */
static void learn_again(struct calendar *c) {
    for (size_t i = 0; i < c->forgotten.n; i++) {
        const struct range *x = &c->forgotten.v[i];
        cover_learn(x->card, x->from, x->to);
    }
    c->forgotten.n = 0;
}

void cal_undo(struct calendar *c, size_t mark) {
    while (c->journal.n > mark) {
        undo_one(c, &c->journal.v[--c->journal.n]);
    }
    if (mark == 0) {
        learn_again(c);
    }
}

void cal_note_moved(struct calendar *c, struct entry *e) {
    if (!e->moved && !e->closed && numbers_push(&c->moved, e->number) == 0) {
        e->moved = true;
    }
}

bool cal_lacks(const struct entry *e) {
    for (size_t line = 0; line < e->n_lines; line++) {
        if (cal_placed(e, line) < e->lines[line].count) {
            return true;
        }
    }
    return false;
}

static void note_broken(struct calendar *c, struct entry *e) {
    bool broken = cal_lacks(e);
    c->broken += (size_t)(broken && !e->broken) - (size_t)(e->broken && !broken);
    e->broken = broken;
}

void cal_commit(struct calendar *c, const struct entry *own, const struct entry *old) {
    for (size_t i = 0; i < c->journal.n; i++) {
        const struct op *op = &c->journal.v[i];
        struct steps *s = op->card == NULL ? &op->pool->slack : &op->card->flavor->slack;
        steps_drop(s, op->span.start);
        steps_drop(s, op->span.end);
        if (op->kind == OP_ADD) {
            cover_learn(op->card, op->span.start, op->span.end);
        }
        struct entry *e = cal_entry(c, op->span.entry);
        if (e == old) {
            continue;
        }
        const struct unit *u = &e->units.v[op->span.unit];
        bool left =
            (op->kind == OP_DEL && (u->card != op->card || u->placement != op->span.placement)) ||
            (op->kind == OP_UNUSE && (u->pool != op->pool || u->count != op->count));
        if (left && e != own) {
            cal_note_moved(c, e);
        }
        note_broken(c, e);
    }
    learn_again(c);
    c->journal.n = 0;
    c->dels = 0;
}

void cal_lose(struct calendar *c, struct entry *e, size_t unit) {
    struct card *card = e->units.v[unit].card;
    struct span x = span_of(e, unit, e->units.v[unit].placement);
    cover_forget(card, x.start, x.end);
    span_out(c, card, &x, false);
    steps_drop(&card->flavor->slack, x.start);
    steps_drop(&card->flavor->slack, x.end);
    e->units.v[unit].card = NULL;
    note_broken(c, e);
    cal_note_moved(c, e);
}

static struct span closed_span(int64_t from, int64_t to, uint32_t window) {
    return (struct span){from, to, window | CLOSED_BIT, 0, SPAN_CLOSED, false};
}

int cal_close(struct calendar *c, struct card *card, int64_t from, int64_t to, uint32_t window) {
    struct span x = closed_span(from, to, window);
    return span_in(c, card, &x, false, &(unsigned){0});
}

void cal_reopen(struct calendar *c, struct card *card, int64_t from, int64_t to, uint32_t window) {
    struct span x = closed_span(from, to, window);
    struct spans_at at = {0};
    const struct span *s;
    while ((s = spans_next(&card->spans, &at, from, to)) != NULL) {
        if (s->placement == SPAN_CLOSED && s->entry == x.entry && s->start == from &&
            s->end == to) {
            cover_forget(card, from, to);
            span_out(c, card, &x, false);
            steps_drop(&card->flavor->slack, from);
            steps_drop(&card->flavor->slack, to);
            return;
        }
    }
}
