/* json_diff: see json_diff.h. */
#include "wire/json/json_diff.h"

struct diff {
    struct buf *out;
    struct buf at; /* the pointer to where we are */
    size_t n;
};

/* One step of a JSON pointer; returns what to cut `at` back to. */
static size_t enter(struct diff *d, struct str name) {
    size_t was = d->at.n;
    buf_ch(&d->at, '/');
    for (size_t i = 0; i < name.n; i++) {
        if (name.p[i] == '~' || name.p[i] == '/') {
            buf_c(&d->at, name.p[i] == '~' ? "~0" : "~1");
        } else {
            buf_ch(&d->at, name.p[i]);
        }
    }
    return was;
}

static size_t enter_index(struct diff *d, size_t i) {
    size_t was = d->at.n;
    buf_ch(&d->at, '/');
    buf_u64(&d->at, i);
    return was;
}

static void leave(struct diff *d, size_t was) {
    d->at.n = was;
}

/* v NULL: none. */
static void op(struct diff *d, const char *what, yyjson_val *v) {
    buf_f(d->out, "%s{\"op\":\"%s\",\"path\":", d->n++ > 0 ? "," : "", what);
    buf_json(d->out, buf_view(&d->at));
    if (v != NULL) {
        buf_c(d->out, ",\"value\":");
        json_write(d->out, v);
    }
    buf_ch(d->out, '}');
}

static void compare(struct diff *d, yyjson_val *from, yyjson_val *to);

/* Members mostly stand in the same order in both: the iterators look on from where they are. */
static void compare_members(struct diff *d, yyjson_val *from, yyjson_val *to) {
    yyjson_obj_iter in_to = yyjson_obj_iter_with(to), in_from = yyjson_obj_iter_with(from);
    yyjson_obj_iter it = yyjson_obj_iter_with(from);
    for (yyjson_val *k; (k = yyjson_obj_iter_next(&it)) != NULL;) {
        struct str name = json_str(k);
        yyjson_val *now = yyjson_obj_iter_getn(&in_to, name.p, name.n);
        size_t was = enter(d, name);
        if (now == NULL) {
            op(d, "remove", NULL);
        } else {
            compare(d, yyjson_obj_iter_get_val(k), now);
        }
        leave(d, was);
    }
    it = yyjson_obj_iter_with(to);
    for (yyjson_val *k; (k = yyjson_obj_iter_next(&it)) != NULL;) {
        struct str name = json_str(k);
        if (yyjson_obj_iter_getn(&in_from, name.p, name.n) == NULL) {
            size_t was = enter(d, name);
            op(d, "add", yyjson_obj_iter_get_val(k));
            leave(d, was);
        }
    }
}

static yyjson_val *next_of(yyjson_arr_iter *it) {
    return yyjson_arr_iter_next(it);
}

/* How many elements the lists have in common from here on, at most n. */
static size_t alike(yyjson_arr_iter a, yyjson_arr_iter b, size_t n) {
    size_t i = 0;
    while (i < n && json_equal(next_of(&a), next_of(&b))) {
        i++;
    }
    return i;
}

static void skip(yyjson_arr_iter *it, size_t n) {
    while (n-- > 0) {
        (void)next_of(it);
    }
}

static void compare_elements(struct diff *d, yyjson_val *from, yyjson_val *to) {
    size_t n = yyjson_arr_size(from), m = yyjson_arr_size(to), less = n < m ? n : m;
    yyjson_arr_iter a = yyjson_arr_iter_with(from), b = yyjson_arr_iter_with(to);
    size_t head = alike(a, b, less), tail = 0;
    skip(&a, head);
    skip(&b, head);
    if (n != m) { /* what the longer one has more may stand before an end that is the same */
        yyjson_arr_iter ta = a, tb = b;
        skip(&ta, n - less);
        skip(&tb, m - less);
        tail = alike(ta, tb, less - head) == less - head ? less - head : 0;
    }
    size_t i = head;
    for (; i < less - tail; i++) {
        size_t was = enter_index(d, i);
        compare(d, next_of(&a), next_of(&b));
        leave(d, was);
    }
    for (size_t k = n - tail; k-- > i;) {
        size_t was = enter_index(d, k);
        op(d, "remove", NULL);
        leave(d, was);
    }
    for (; i < m - tail; i++) {
        size_t was = enter_index(d, i);
        op(d, "add", next_of(&b));
        leave(d, was);
    }
}

static void compare(struct diff *d, yyjson_val *from, yyjson_val *to) {
    if (yyjson_is_obj(from) && yyjson_is_obj(to)) {
        compare_members(d, from, to);
    } else if (yyjson_is_arr(from) && yyjson_is_arr(to)) {
        compare_elements(d, from, to);
    } else if (!json_equal(from, to)) {
        op(d, "replace", to);
    }
}

size_t json_diff(yyjson_val *from, yyjson_val *to, struct buf *out) {
    struct diff d = {.out = out};
    buf_init(&d.at, 0);
    buf_ch(out, '[');
    compare(&d, from, to);
    buf_ch(out, ']');
    if (buf_ok(&d.at) != 0 && out->failed == 0) {
        out->failed = buf_ok(&d.at);
    }
    buf_release(&d.at);
    return d.n;
}
