/* template_text: a walk by the tables. See template_text.h. */
#include "control/apps/template_text.h"

#include <stdlib.h>

#include "api/tables/view_core.h"
#include "wire/text/quantity.h"

static void write_object(struct buf *b, const struct schema *s, yyjson_val *v, struct arena *a);

/* ---- nothing ---- */

static bool is_nothing(const struct field *f, yyjson_val *v);

static bool is_empty_object(const struct schema *s, yyjson_val *v) {
    for (size_t i = 0; i < s->n; i++) {
        yyjson_val *m = json_get(v, str_of(s->fields[i].json));
        if (m && !is_nothing(&s->fields[i], m)) {
            return false;
        }
    }
    return true;
}

/* The hash is not the template's own. */
static bool is_hash(yyjson_val *key) {
    return str_is(json_str(key), POD_TEMPLATE_HASH);
}

static bool is_empty_map(yyjson_val *v) {
    size_t n = yyjson_obj_size(v);
    return n == 0 || (n == 1 && json_get(v, STR(POD_TEMPLATE_HASH)) != NULL);
}

static bool is_nothing(const struct field *f, yyjson_val *v) {
    bool told = f && (f->flags & FIELD_F_OPT) != 0;
    if (v == NULL || yyjson_is_null(v)) {
        return true;
    }
    if (f && f->shape == FIELD_ONE && f->type == FIELD_OBJECT) {
        return is_empty_object(f->of, v);
    }
    return yyjson_is_obj(v)    ? is_empty_map(v)
           : yyjson_is_ctn(v)  ? yyjson_arr_size(v) == 0
           : yyjson_is_str(v)  ? yyjson_get_len(v) == 0
           : yyjson_is_num(v)  ? !told && yyjson_get_num(v) == 0
           : yyjson_is_bool(v) ? !told && !yyjson_get_bool(v)
                               : false;
}

/* ---- something ---- */

static void write_one(struct buf *b, const struct field *f, yyjson_val *v, struct arena *a) {
    struct quantity q;
    if (f->type == FIELD_OBJECT && f->of) {
        write_object(b, f->of, v, a);
    } else if (f->type == FIELD_QUANTITY && yyjson_is_str(v) &&
               quantity_parse(json_str(v), &q, NULL) == 0) {
        buf_ch(b, '"');
        quantity_write(b, q);
        buf_ch(b, '"');
    } else {
        json_write(b, v);
    }
}

static int by_key(const void *x, const void *y) {
    return str_cmp(json_str(*(yyjson_val *const *)x), json_str(*(yyjson_val *const *)y));
}

static void write_map(struct buf *b, const struct field *f, yyjson_val *v, struct arena *a) {
    yyjson_val **keys = ARENA_ARRAY(a, yyjson_val *, yyjson_obj_size(v) + 1), *key, *value;
    size_t i, max, n = 0;
    if (keys == NULL) {
        b->failed = b->failed ? b->failed : ERR_NOMEM;
        return;
    }
    yyjson_obj_foreach(v, i, max, key, value) {
        if (!is_hash(key)) {
            keys[n++] = key;
        }
    }
    qsort(keys, n, sizeof(yyjson_val *), by_key);
    buf_ch(b, '{');
    for (i = 0; i < n; i++) {
        buf_c(b, i ? "," : "");
        buf_json(b, json_str(keys[i]));
        buf_ch(b, ':');
        write_one(b, f, yyjson_obj_iter_get_val(keys[i]), a);
    }
    buf_ch(b, '}');
}

static void write_list(struct buf *b, const struct field *f, yyjson_val *v, struct arena *a) {
    size_t i, n;
    yyjson_val *e;
    buf_ch(b, '[');
    yyjson_arr_foreach(v, i, n, e) {
        buf_c(b, i ? "," : "");
        write_one(b, f, e, a);
    }
    buf_ch(b, ']');
}

static void write_object(struct buf *b, const struct schema *s, yyjson_val *v, struct arena *a) {
    bool any = false;
    buf_ch(b, '{');
    for (size_t i = 0; i < s->n; i++) {
        const struct field *f = &s->fields[i];
        yyjson_val *m = json_get(v, str_of(f->json));
        if (is_nothing(f, m)) {
            continue;
        }
        buf_f(b, any ? ",\"%s\":" : "\"%s\":", f->json);
        any = true;
        if (f->shape == FIELD_MAP && yyjson_is_obj(m)) {
            write_map(b, f, m, a);
        } else if (f->shape == FIELD_LIST && yyjson_is_arr(m)) {
            write_list(b, f, m, a);
        } else {
            write_one(b, f, m, a);
        }
    }
    buf_ch(b, '}');
}

void template_text(yyjson_val *template, struct arena *a, struct buf *out) {
    write_object(out, &schema_pod_template, template, a);
}

/* FNV-1a of 32 bits, each digit of which becomes a letter that spells no words. */
struct str template_hash(struct str text, int32_t collisions, char ret[static TEMPLATE_HASH_MAX]) {
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    uint32_t h = 2166136261U;
    for (size_t i = 0; i < text.n; i++) {
        h = (h ^ (uint8_t)text.p[i]) * 16777619U;
    }
    for (size_t i = 0; collisions > 0 && i < sizeof collisions; i++) {
        h = (h ^ ((uint32_t)collisions >> (8 * i) & 0xff)) * 16777619U;
    }
    int n = snprintf(ret, TEMPLATE_HASH_MAX, "%u", h);
    for (int i = 0; i < n; i++) {
        ret[i] = letters[(unsigned char)ret[i] % (sizeof letters - 1)];
    }
    return str_from(ret, (size_t)n);
}
