/* cel_amount: quantities of Kubernetes and semantic versions, as values. See cel_tree.h. */
#include "api/cel/cel_tree.h"
#include "base/limits.h"

/* A semantic version: numbers, and what stands behind "-" and "+". */
struct cel_semver {
    uint64_t part[3];
    struct str pre, build;
};

static struct cel_value no_overload(struct cel_run *r) {
    return cel_error(r, "no such overload");
}

static struct cel_value double_value(double d) {
    return (struct cel_value){.type = CEL_V_DOUBLE, .d = d};
}

CEL_CALL(call_quantity) {
    (void)e;
    (void)n;
    struct cel_value out = {.type = CEL_V_QUANTITY};
    bool text = v[0].type == CEL_V_STRING && cel_spend(r, v[0].s.n / 8);
    return text && quantity_parse(v[0].s, &out.q, NULL) == 0
               ? out
               : cel_error(r, "quantities must match the regular expression "
                              "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
}

CEL_CALL(call_is_quantity) {
    (void)e;
    (void)n;
    struct quantity q;
    bool text = v[0].type == CEL_V_STRING && cel_spend(r, v[0].s.n / 8);
    return text ? cel_bool(quantity_parse(v[0].s, &q, NULL) == 0) : no_overload(r);
}

static bool quantities(const struct cel_value *v, size_t n) {
    return v[0].type == CEL_V_QUANTITY && (n < 2 || v[1].type == CEL_V_QUANTITY);
}

CEL_CALL(call_compare) {
    (void)e;
    return quantities(v, n) ? cel_int(quantity_cmp(v[0].q, v[1].q)) : no_overload(r);
}

CEL_CALL(call_greater) {
    (void)e;
    return quantities(v, n) ? cel_bool(quantity_cmp(v[0].q, v[1].q) > 0) : no_overload(r);
}

CEL_CALL(call_less) {
    (void)e;
    return quantities(v, n) ? cel_bool(quantity_cmp(v[0].q, v[1].q) < 0) : no_overload(r);
}

CEL_CALL(call_sign) {
    (void)e;
    return quantities(v, n) ? cel_int(quantity_sign(v[0].q)) : no_overload(r);
}

/* add and sub: of a quantity, or of a number. */
static struct cel_value change(struct cel_run *r, struct cel_value *v, bool add) {
    struct cel_value other = v[1];
    if (v[0].type == CEL_V_QUANTITY && v[1].type == CEL_V_INT) {
        other = (struct cel_value){.type = CEL_V_QUANTITY, .q = quantity_of(v[1].i, 0)};
    }
    if (v[0].type != CEL_V_QUANTITY || other.type != CEL_V_QUANTITY) {
        return no_overload(r);
    }
    int code = add ? quantity_add(&v[0].q, other.q) : quantity_sub(&v[0].q, other.q);
    return code != 0 ? cel_error(r, "quantity overflow") : v[0];
}

CEL_CALL(call_add) {
    (void)e;
    (void)n;
    return change(r, v, true);
}

CEL_CALL(call_sub) {
    (void)e;
    (void)n;
    return change(r, v, false);
}

CEL_CALL(call_as_integer) {
    (void)e;
    struct quantity whole = quantity_of(quantity_value(v[0].q), QUANTITY_DECIMAL);
    return !quantities(v, n)                  ? no_overload(r)
           : quantity_cmp(whole, v[0].q) != 0 ? cel_error(r, "cannot convert value to integer")
                                              : cel_int(quantity_value(v[0].q));
}

CEL_CALL(call_is_integer) {
    (void)e;
    (void)n;
    if (v[0].type != CEL_V_QUANTITY) {
        return no_overload(r);
    }
    struct quantity whole = quantity_of(quantity_value(v[0].q), 0);
    return cel_bool(quantity_cmp(whole, v[0].q) == 0);
}

CEL_CALL(call_approximate) {
    (void)e;
    return quantities(v, n) ? double_value((double)quantity_milli(v[0].q) / 1000.0)
                            : no_overload(r);
}

/* ---- semantic versions ---- */

static bool is_ident(struct str s, bool numbers_plain) {
    struct str rest = s, part;
    if (s.n == 0) {
        return false;
    }
    while (str_next(&rest, '.', &part)) {
        bool digits = true;
        for (size_t i = 0; i < part.n; i++) {
            char c = part.p[i];
            bool digit = c >= '0' && c <= '9';
            digits = digits && digit;
            if (!digit && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && c != '-') {
                return false;
            }
        }
        if (part.n == 0 || (numbers_plain && digits && part.n > 1 && part.p[0] == '0')) {
            return false;
        }
    }
    return s.p[s.n - 1] != '.';
}

/* One of the three numbers. lenient: with zeros in front. */
static bool read_part(struct str s, bool lenient, uint64_t *ret) {
    while (lenient && s.n > 1 && s.p[0] == '0') {
        s = str_skip(s, 1);
    }
    return (s.n == 1 || (s.n > 1 && s.p[0] != '0')) && s.p[0] >= '0' && s.p[0] <= '9' &&
           str_to_u64(s, ret);
}

/* normalize: "v1.2" and "01.2.3" are understood, too. */
static bool read_semver(struct str s, bool normalize, struct cel_semver *ret) {
    struct cel_semver v = {0};
    struct str rest, part;
    if (normalize && s.n > 0 && s.p[0] == 'v') {
        s = str_skip(s, 1);
    }
    ptrdiff_t plus = str_find(s, '+');
    if (plus >= 0) {
        v.build = str_skip(s, (size_t)plus + 1);
        s = str_head(s, (size_t)plus);
    }
    ptrdiff_t dash = str_find(s, '-');
    if (dash >= 0) {
        v.pre = str_skip(s, (size_t)dash + 1);
        s = str_head(s, (size_t)dash);
    }
    size_t n = 0;
    rest = s;
    while (str_next(&rest, '.', &part)) {
        if (n == 3 || !read_part(part, normalize, &v.part[n])) {
            return false;
        }
        n++;
    }
    bool whole = n == 3 || (normalize && n > 0);
    bool ends = s.n > 0 && s.p[s.n - 1] != '.';
    *ret = v;
    return whole && ends && (dash < 0 || is_ident(v.pre, true)) &&
           (plus < 0 || is_ident(v.build, false));
}

static int compare_pre(struct str a, struct str b) {
    struct str x, y;
    if (a.n == 0 || b.n == 0) {
        return (a.n == 0) - (b.n == 0);
    }
    for (;;) {
        bool more_a = str_next(&a, '.', &x), more_b = str_next(&b, '.', &y);
        if (!more_a || !more_b) {
            return (int)more_a - (int)more_b;
        }
        uint64_t i, j;
        bool num_a = str_to_u64(x, &i), num_b = str_to_u64(y, &j);
        int c = num_a && num_b ? (i > j) - (i < j) : num_a ? -1 : num_b ? 1 : str_cmp(x, y);
        if (c != 0) {
            return c < 0 ? -1 : 1;
        }
    }
}

static int compare_semver(const struct cel_semver *a, const struct cel_semver *b) {
    for (size_t i = 0; i < 3; i++) {
        if (a->part[i] != b->part[i]) {
            return a->part[i] < b->part[i] ? -1 : 1;
        }
    }
    return compare_pre(a->pre, b->pre);
}

bool cel_semver_equal(const struct cel_semver *a, const struct cel_semver *b) {
    return compare_semver(a, b) == 0;
}

CEL_CALL(call_semver) {
    (void)e;
    struct cel_semver *x = ARENA_NEW(r->in->arena, struct cel_semver);
    bool good = x != NULL && cel_spend(r, v[0].s.n / 8) && read_semver(v[0].s, n > 1 && v[1].b, x);
    return good ? (struct cel_value){.type = CEL_V_SEMVER, .semver = x}
                : cel_error(r, "\"%.*s\" is not a valid semantic version",
                            STR_ARG(str_head(v[0].s, 256)));
}

CEL_CALL(call_is_semver) {
    (void)e;
    struct cel_semver x;
    return cel_spend(r, v[0].s.n / 8) ? cel_bool(read_semver(v[0].s, n > 1 && v[1].b, &x))
                                      : no_overload(r);
}

CEL_CALL(call_semver_part) {
    (void)r;
    (void)n;
    size_t i = str_is(e->name, "major") ? 0 : str_is(e->name, "minor") ? 1 : 2;
    return cel_int((int64_t)v[0].semver->part[i]);
}

CEL_CALL(call_semver_compare) {
    (void)r;
    (void)n;
    int c = compare_semver(v[0].semver, v[1].semver);
    return str_is(e->name, "compareTo")    ? cel_int(c)
           : str_is(e->name, "isLessThan") ? cel_bool(c < 0)
                                           : cel_bool(c > 0);
}

static const struct cel_function functions[] = {
    {"quantity", false, "s>Q", call_quantity},
    {"isQuantity", false, "s>b", call_is_quantity},
    {"compareTo", true, "QQ>i", call_compare},
    {"isGreaterThan", true, "QQ>b", call_greater},
    {"isLessThan", true, "QQ>b", call_less},
    {"sign", true, "Q>i", call_sign},
    {"add", true, "QQ>Q Qi>Q", call_add},
    {"sub", true, "QQ>Q Qi>Q", call_sub},
    {"asInteger", true, "Q>i", call_as_integer},
    {"isInteger", true, "Q>b", call_is_integer},
    {"asApproximateFloat", true, "Q>d", call_approximate},
    {"semver", false, "s>V sb>V", call_semver},
    {"isSemver", false, "s>b sb>b", call_is_semver},
    {"major", true, "V>i", call_semver_part},
    {"minor", true, "V>i", call_semver_part},
    {"patch", true, "V>i", call_semver_part},
    {"compareTo", true, "VV>i", call_semver_compare},
    {"isGreaterThan", true, "VV>b", call_semver_compare},
    {"isLessThan", true, "VV>b", call_semver_compare},
};
CEL_FUNCTIONS(cel_amount_functions, functions);
