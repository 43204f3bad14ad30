/* causes: see causes.h. */
#include "api/walk/causes.h"

#include "base/buf.h"

struct str cause_reason(enum cause_type t) {
    switch (t) {
    case CAUSE_REQUIRED:
        return STR("FieldValueRequired");
    case CAUSE_INVALID:
        return STR("FieldValueInvalid");
    case CAUSE_NOT_SUPPORTED:
        return STR("FieldValueNotSupported");
    case CAUSE_DUPLICATE:
        return STR("FieldValueDuplicate");
    case CAUSE_FORBIDDEN:
        return STR("FieldValueForbidden");
    case CAUSE_TOO_LONG:
        return STR("FieldValueTooLong");
    case CAUSE_TOO_MANY:
        return STR("FieldValueTooMany");
    case CAUSE_TYPE:
        return STR("FieldValueTypeInvalid");
    case CAUSE_NOT_FOUND:
        return STR("FieldValueNotFound");
    }
    return STR("FieldValueInvalid");
}

void causes_message(struct buf *b, const char *group, const char *kind, struct str name,
                    const struct causes *c) {
    buf_f(b, "%s%s%s \"%.*s\" is invalid: ", kind, group[0] ? "." : "", group, STR_ARG(name));
    if (c->n > 1) {
        buf_ch(b, '[');
    }
    for (size_t i = 0; i < c->n; i++) {
        buf_c(b, i ? ", " : "");
        buf_str(b, c->v[i].field);
        buf_c(b, c->v[i].field.n ? ": " : "");
        buf_str(b, c->v[i].text);
    }
    if (c->n > 1) {
        buf_ch(b, ']');
    }
}
