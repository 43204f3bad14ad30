/* index_set (core): see index_set.h. */
#include "core/job/index_set.h"

void index_set_init(struct index_set *s, struct arena *a) {
    *s = (struct index_set){.arena = a};
}

/* The first range that ends at `index` or later. */
static size_t find(const struct index_set *s, int32_t index) {
    size_t lo = 0, hi = s->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (s->v[mid].last < index) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

static int insert(struct index_set *s, size_t at, struct index_range r) {
    if (s->n == s->cap) {
        size_t cap = s->cap ? s->cap * 2 : 8;
        struct index_range *v = arena_array(s->arena, cap, sizeof *v);
        if (v == NULL) {
            return ERR_NOMEM;
        }
        if (s->n) {
            memcpy(v, s->v, s->n * sizeof *v);
        }
        s->v = v;
        s->cap = cap;
    }
    memmove(&s->v[at + 1], &s->v[at], (s->n - at) * sizeof *s->v);
    s->v[at] = r;
    s->n++;
    return 0;
}

int index_set_add(struct index_set *s, int32_t index) {
    size_t at = find(s, index);
    if (at < s->n && s->v[at].first <= index) {
        return 0;
    }
    bool before = at > 0 && s->v[at - 1].last == index - 1;
    bool after = at < s->n && s->v[at].first == index + 1;
    if (before && after) {
        s->v[at - 1].last = s->v[at].last;
        memmove(&s->v[at], &s->v[at + 1], (s->n - at - 1) * sizeof *s->v);
        s->n--;
    } else if (before) {
        s->v[at - 1].last = index;
    } else if (after) {
        s->v[at].first = index;
    } else {
        return insert(s, at, (struct index_range){index, index});
    }
    return 0;
}

bool index_set_has(const struct index_set *s, int32_t index) {
    size_t at = find(s, index);
    return at < s->n && s->v[at].first <= index;
}

int64_t index_set_count(const struct index_set *s) {
    int64_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        n += (int64_t)s->v[i].last - s->v[i].first + 1;
    }
    return n;
}

int64_t index_set_common(const struct index_set *a, const struct index_set *b) {
    int64_t n = 0;
    for (size_t i = 0, j = 0; i < a->n && j < b->n;) {
        int32_t first = a->v[i].first > b->v[j].first ? a->v[i].first : b->v[j].first;
        int32_t last = a->v[i].last < b->v[j].last ? a->v[i].last : b->v[j].last;
        n += last >= first ? (int64_t)last - first + 1 : 0;
        if (a->v[i].last < b->v[j].last) {
            i++;
        } else {
            j++;
        }
    }
    return n;
}

static int add_range(struct index_set *s, int64_t first, int64_t last) {
    struct index_range *end = s->n ? &s->v[s->n - 1] : NULL;
    if (end && end->last == first - 1) {
        end->last = (int32_t)last;
        return 0;
    }
    return insert(s, s->n, (struct index_range){(int32_t)first, (int32_t)last});
}

int index_set_parse(struct index_set *s, struct str text, int32_t limit, struct err *err) {
    struct str part, head, tail;
    int64_t first, last, before = -1;
    s->n = 0;
    while (str_next(&text, ',', &part)) {
        bool range = str_cut(part, '-', &head, &tail);
        if (!str_to_i64(head, &first) || (range && !str_to_i64(tail, &last))) {
            return err_set(err, ERR_SYNTAX, "\"%.*s\" is not an index or a range", STR_ARG(part));
        }
        last = range ? last : first;
        if (first <= before || last < first || last > INT32_MAX) {
            return err_set(err, ERR_SYNTAX, "indexes are not in order at \"%.*s\"", STR_ARG(part));
        }
        before = last;
        if (first >= limit) {
            return 0;
        }
        if (add_range(s, first, last < limit ? last : limit - 1) != 0) {
            return err_set(err, ERR_NOMEM, "out of memory");
        }
    }
    return 0;
}

void index_set_write(const struct index_set *s, struct buf *out) {
    for (size_t i = 0; i < s->n; i++) {
        const struct index_range *r = &s->v[i];
        buf_f(out, "%s%d", i ? "," : "", r->first);
        if (r->last > r->first) {
            buf_f(out, "%c%d", r->last == r->first + 1 ? ',' : '-', r->last);
        }
    }
}
