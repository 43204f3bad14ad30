/*
 * cel_call: conversions between types, and sizes. See cel_tree.h.
 *
 * Texts are counted in characters, as CEL does, not in bytes.
 */
#include <math.h>

#include "api/cel/cel_tree.h"
#include "base/limits.h"
#include "wire/text/time.h"

static struct cel_value no_overload(struct cel_run *r) {
    return cel_error(r, "no such overload");
}

static struct cel_value double_value(double d) {
    return (struct cel_value){.type = CEL_V_DOUBLE, .d = d};
}

static size_t characters(struct str s) {
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) {
        n += ((unsigned char)s.p[i] & 0xC0) != 0x80;
    }
    return n;
}

/* ---- conversions ---- */

CEL_CALL(call_size) {
    (void)e;
    (void)n;
    if (v[0].type == CEL_V_BYTES) {
        return cel_int((int64_t)v[0].s.n);
    }
    if (v[0].type == CEL_V_STRING) {
        return cel_spend(r, v[0].s.n / 64) ? cel_int((int64_t)characters(v[0].s)) : no_overload(r);
    }
    return cel_is_list(v[0]) || cel_is_map(v[0]) ? cel_int((int64_t)cel_size(v[0]))
                                                 : no_overload(r);
}

CEL_CALL(call_int) {
    (void)e;
    (void)n;
    int64_t i;
    switch (v[0].type) {
    case CEL_V_INT:
        return v[0];
    case CEL_V_UINT:
        return v[0].u > INT64_MAX ? cel_error(r, "integer overflow") : cel_int((int64_t)v[0].u);
    case CEL_V_DOUBLE:
        return fabs(v[0].d) < 9.2233720368547e18 ? cel_int((int64_t)v[0].d)
                                                 : cel_error(r, "integer overflow");
    case CEL_V_STRING:
        return str_to_i64(v[0].s, &i) ? cel_int(i) : cel_error(r, "cannot convert to int");
    case CEL_V_TIMESTAMP: /* whole seconds, towards the past */
        i = v[0].i / 1000000000;
        return cel_int(i - (v[0].i % 1000000000 < 0));
    case CEL_V_DURATION:
        return cel_int(v[0].i);
    default:
        return no_overload(r);
    }
}

CEL_CALL(call_uint) {
    (void)e;
    (void)n;
    struct cel_value out = {.type = CEL_V_UINT};
    switch (v[0].type) {
    case CEL_V_UINT:
        return v[0];
    case CEL_V_INT:
        out.u = (uint64_t)v[0].i;
        return v[0].i < 0 ? cel_error(r, "unsigned integer overflow") : out;
    case CEL_V_DOUBLE:
        out.u = v[0].d >= 0 && v[0].d < 1.8446744073709e19 ? (uint64_t)v[0].d : 0;
        return v[0].d >= 0 && v[0].d < 1.8446744073709e19
                   ? out
                   : cel_error(r, "unsigned integer overflow");
    case CEL_V_STRING:
        return str_to_u64(v[0].s, &out.u) ? out : cel_error(r, "cannot convert to uint");
    default:
        return no_overload(r);
    }
}

CEL_CALL(call_double) {
    (void)e;
    (void)n;
    char text[64], *end;
    switch (v[0].type) {
    case CEL_V_DOUBLE:
        return v[0];
    case CEL_V_INT:
        return double_value((double)v[0].i);
    case CEL_V_UINT:
        return double_value((double)v[0].u);
    case CEL_V_STRING: {
        double d = str_copy(v[0].s, text, sizeof(text)) ? strtod(text, &end) : 0;
        bool good = v[0].s.n > 0 && v[0].s.n < sizeof(text) && *end == '\0';
        return good ? double_value(d) : cel_error(r, "cannot convert to double");
    }
    default:
        return no_overload(r);
    }
}

CEL_CALL(call_string) {
    (void)e;
    (void)n;
    return cel_string_of(r, v[0]);
}

CEL_CALL(call_bool) {
    (void)e;
    (void)n;
    if (v[0].type == CEL_V_BOOL) {
        return v[0];
    }
    bool yes = v[0].type == CEL_V_STRING && str_is(v[0].s, "true");
    return yes || (v[0].type == CEL_V_STRING && str_is(v[0].s, "false"))
               ? cel_bool(yes)
               : cel_error(r, "cannot convert to bool");
}

CEL_CALL(call_dyn) {
    (void)r;
    (void)e;
    (void)n;
    return v[0];
}

CEL_CALL(call_type) {
    (void)r;
    (void)e;
    (void)n;
    return (struct cel_value){.type = CEL_V_TYPE, .s = str_of(cel_type_name(v[0]))};
}

CEL_CALL(call_duration) {
    (void)e;
    (void)n;
    struct cel_value out = {.type = CEL_V_DURATION};
    if (v[0].type == CEL_V_DURATION) {
        return v[0];
    }
    if (v[0].type == CEL_V_INT) {
        out.i = v[0].i;
        return out;
    }
    return v[0].type == CEL_V_STRING && duration_parse(v[0].s, &out.i, NULL) == 0
               ? out
               : cel_error(r, "cannot convert to duration");
}

CEL_CALL(call_timestamp) {
    (void)e;
    (void)n;
    struct cel_value out = {.type = CEL_V_TIMESTAMP};
    if (v[0].type == CEL_V_TIMESTAMP) {
        return v[0];
    }
    if (v[0].type == CEL_V_INT) {
        return __builtin_mul_overflow(v[0].i, INT64_C(1000000000), &out.i)
                   ? cel_error(r, "timestamp overflow")
                   : out;
    }
    return v[0].type == CEL_V_STRING && time_parse(v[0].s, &out.i, NULL) == 0
               ? out
               : cel_error(r, "cannot convert to timestamp");
}

CEL_CALL(call_bytes) {
    (void)e;
    (void)n;
    v[0].type = v[0].type == CEL_V_STRING ? CEL_V_BYTES : v[0].type;
    return v[0].type == CEL_V_BYTES ? v[0] : no_overload(r);
}

static const struct cel_function functions[] = {
    {"size", false, "s>i y>i [A]>i {AB}>i", call_size},
    {"size", true, "s>i y>i [A]>i {AB}>i", call_size},
    {"int", false, "i>i u>i d>i s>i T>i D>i", call_int},
    {"uint", false, "u>u i>u d>u s>u", call_uint},
    {"double", false, "d>d i>d u>d s>d", call_double},
    {"string", false, "s>s b>s i>s u>s d>s y>s T>s D>s P>s C>s", call_string},
    {"bool", false, "b>b s>b", call_bool},
    {"bytes", false, "y>y s>y", call_bytes},
    {"dyn", false, "A>*", call_dyn},
    {"type", false, "A>t", call_type},
    {"duration", false, "D>D s>D i>D", call_duration},
    {"timestamp", false, "T>T s>T i>T", call_timestamp},
};
CEL_FUNCTIONS(cel_core_functions, functions);
