/* strategic: strategic merge patch by a kind's field table. See strategic.h. */
#include "api/schema/strategic.h"

static void lookup(const void *node, struct str name, struct strategic_field *ret) {
    const struct schema *s = node;
    for (size_t i = 0; s && i < s->n; i++) {
        const struct field *f = &s->fields[i];
        if (!str_is(name, f->json)) {
            continue;
        }
        ret->node = f->shape == FIELD_MAP ? NULL : f->of;
        ret->merge = f->shape == FIELD_LIST && (f->flags & FIELD_F_MERGE);
        ret->merge_key = ret->merge ? f->merge_key : NULL;
        return;
    }
}

int api_patch_strategic(const struct schema *s, yyjson_mut_doc *d, yyjson_val *patch,
                        struct err *err) {
    static const struct strategic_schema schema = {lookup};
    return patch_strategic(d, patch, &schema, s, err);
}
