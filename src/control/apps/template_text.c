/* template_text: a walk by the tables. See template_text.h. */
#include "control/apps/template_text.h"

#include "api/tables/view_core.h"
#include "api/walk/canonical.h"

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

void template_text(yyjson_val *template, struct arena *a, struct buf *out) {
    static const struct canonical as_read_back = {is_nothing, .skip_key = POD_TEMPLATE_HASH};
    canonical_object(&as_read_back, &schema_pod_template, template, a, out);
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
