/* cel_list: the functions of lists, sets and optional values. See cel_tree.h. */
#include "api/cel/cel_tree.h"
#include "base/limits.h"

static struct cel_value no_overload(struct cel_run *r) {
    return cel_error(r, "no such overload");
}

/* ---- lists ---- */

CEL_CALL(call_sum) {
    (void)e;
    (void)n;
    struct cel_cursor c = cel_walk(v[0]);
    struct cel_value k, x, sum = cel_int(0);
    if (!cel_is_list(v[0])) {
        return no_overload(r);
    }
    while (cel_next(&c, &k, &x) && cel_spend(r, 1)) {
        if (k.i == 0 && (x.type == CEL_V_DOUBLE || x.type == CEL_V_DURATION)) {
            sum = (struct cel_value){.type = x.type};
        }
        if (x.type != sum.type) {
            return no_overload(r);
        }
        if (x.type == CEL_V_DOUBLE) {
            sum.d += x.d;
        } else if (__builtin_add_overflow(sum.i, x.i, &sum.i)) {
            return cel_error(r, "integer overflow");
        }
    }
    return sum;
}

static struct cel_value extreme(struct cel_run *r, struct cel_value list, int sign) {
    struct cel_cursor c = cel_walk(list);
    struct cel_value k, x, best = {.type = CEL_V_ERROR};
    int order;
    if (!cel_is_list(list)) {
        return no_overload(r);
    }
    while (cel_next(&c, &k, &x) && cel_spend(r, 1)) {
        if (k.i > 0 && !cel_order(r, x, best, &order)) {
            return no_overload(r);
        }
        best = k.i == 0 || order * sign > 0 ? x : best;
    }
    return best.type == CEL_V_ERROR ? cel_error(r, "min or max of an empty list") : best;
}

CEL_CALL(call_min) {
    (void)e;
    (void)n;
    return extreme(r, v[0], -1);
}

CEL_CALL(call_max) {
    (void)e;
    (void)n;
    return extreme(r, v[0], 1);
}

CEL_CALL(call_sorted) {
    (void)e;
    (void)n;
    struct cel_cursor c = cel_walk(v[0]);
    struct cel_value k, x, last = {0};
    int order;
    while (cel_is_list(v[0]) && cel_next(&c, &k, &x) && cel_spend(r, 1)) {
        if (k.i > 0 && !cel_order(r, last, x, &order)) {
            return no_overload(r);
        }
        if (k.i > 0 && order > 0) {
            return cel_bool(false);
        }
        last = x;
    }
    return cel_is_list(v[0]) ? cel_bool(true) : no_overload(r);
}

static struct cel_value index_in_list(struct cel_run *r, struct cel_value list,
                                      struct cel_value what, bool last) {
    struct cel_cursor c = cel_walk(list);
    struct cel_value k, v;
    int64_t at = -1;
    while (cel_next(&c, &k, &v) && (last || at < 0)) {
        at = cel_equal(r, v, what) ? k.i : at;
    }
    return cel_int(at);
}

CEL_CALL(call_list_index_of) {
    (void)e;
    (void)n;
    return index_in_list(r, v[0], v[1], false);
}

CEL_CALL(call_list_last_index_of) {
    (void)e;
    (void)n;
    return index_in_list(r, v[0], v[1], true);
}

/* ---- sets ---- */

static bool holds(struct cel_run *r, struct cel_value list, struct cel_value what) {
    struct cel_cursor c = cel_walk(list);
    struct cel_value k, v;
    while (cel_next(&c, &k, &v)) {
        if (cel_equal(r, v, what)) {
            return true;
        }
    }
    return false;
}

/* Whether all (or any) of part is in whole. */
static bool covers(struct cel_run *r, struct cel_value whole, struct cel_value part, bool any) {
    struct cel_cursor c = cel_walk(part);
    struct cel_value k, v;
    while (cel_next(&c, &k, &v)) {
        if (holds(r, whole, v) == any) {
            return any;
        }
    }
    return !any;
}

CEL_CALL(call_sets_contains) {
    (void)e;
    (void)n;
    return cel_bool(covers(r, v[0], v[1], false));
}

CEL_CALL(call_sets_equivalent) {
    (void)e;
    (void)n;
    return cel_bool(covers(r, v[0], v[1], false) && covers(r, v[1], v[0], false));
}

CEL_CALL(call_sets_intersects) {
    (void)e;
    (void)n;
    return cel_bool(covers(r, v[0], v[1], true));
}

/* ---- optional values ---- */

CEL_CALL(call_has_value) {
    (void)e;
    (void)n;
    return v[0].type == CEL_V_OPTIONAL ? cel_bool(v[0].some != NULL) : no_overload(r);
}

CEL_CALL(call_value) {
    (void)e;
    (void)n;
    if (v[0].type != CEL_V_OPTIONAL) {
        return no_overload(r);
    }
    return v[0].some != NULL ? *v[0].some : cel_error(r, "optional.none() dereference");
}

CEL_CALL(call_or_value) {
    (void)e;
    (void)n;
    if (v[0].type != CEL_V_OPTIONAL) {
        return no_overload(r);
    }
    return v[0].some != NULL ? *v[0].some : v[1];
}

static struct cel_value some(struct cel_run *r, struct cel_value v) {
    struct cel_value *kept = ARENA_NEW(r->in->arena, struct cel_value);
    if (kept == NULL) {
        return cel_error(r, "out of memory");
    }
    *kept = v;
    return (struct cel_value){.type = CEL_V_OPTIONAL, .some = kept};
}

CEL_CALL(call_optional_of) {
    (void)e;
    (void)n;
    return some(r, v[0]);
}

CEL_CALL(call_optional_none) {
    (void)r;
    (void)e;
    (void)v;
    (void)n;
    return (struct cel_value){.type = CEL_V_OPTIONAL};
}

static bool is_zero(struct cel_value v) {
    switch (v.type) {
    case CEL_V_NULL:
        return true;
    case CEL_V_BOOL:
        return !v.b;
    case CEL_V_INT:
    case CEL_V_UINT:
    case CEL_V_DURATION:
        return v.i == 0;
    case CEL_V_DOUBLE:
        return v.d == 0;
    case CEL_V_STRING:
    case CEL_V_BYTES:
        return v.s.n == 0;
    default:
        return (cel_is_list(v) || cel_is_map(v)) && cel_size(v) == 0;
    }
}

CEL_CALL(call_optional_non_zero) {
    (void)e;
    (void)n;
    return is_zero(v[0]) ? (struct cel_value){.type = CEL_V_OPTIONAL} : some(r, v[0]);
}

CEL_CALL(call_or) {
    (void)r;
    (void)e;
    (void)n;
    return v[0].some != NULL ? v[0] : v[1];
}

#define NUMBERS "[i]>i [u]>u [d]>d [D]>D"
#define ORDERED "[i]>i [u]>u [d]>d [D]>D [T]>T [b]>b [s]>s [y]>y"

static const struct cel_function functions[] = {
    {"sum", true, NUMBERS, call_sum},
    {"min", true, ORDERED, call_min},
    {"max", true, ORDERED, call_max},
    {"isSorted", true, "[i]>b [u]>b [d]>b [D]>b [T]>b [b]>b [s]>b [y]>b", call_sorted},
    {"indexOf", true, "[A]A>i", call_list_index_of},
    {"lastIndexOf", true, "[A]A>i", call_list_last_index_of},
    {"sets.contains", false, "[A][A]>b", call_sets_contains},
    {"sets.equivalent", false, "[A][A]>b", call_sets_equivalent},
    {"sets.intersects", false, "[A][A]>b", call_sets_intersects},
    {"hasValue", true, "?A>b", call_has_value},
    {"value", true, "?A>A", call_value},
    {"or", true, "?A?A>?A", call_or},
    {"orValue", true, "?AA>A", call_or_value},
    {"optional.of", false, "A>?A", call_optional_of},
    {"optional.none", false, ">?A", call_optional_none},
    {"optional.ofNonZeroValue", false, "A>?A", call_optional_non_zero},
};
CEL_FUNCTIONS(cel_list_functions, functions);
