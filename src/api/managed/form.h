/*
 * form: what a value is to server-side apply: one value, members of their own, or a list of elements with names.
 *
 * Field tables and the schemas of custom kinds say it in their own ways (field.h: FIELD_F_ATOMIC, FIELD_F_SET,
 * list_keys; crd_node.h: CRD_ATOMIC, CRD_LIST_*); a form is where one of them is in either. What no schema describes,
 * below x-kubernetes-preserve-unknown-fields, has members where it is an object, and lists there are one value.
 */
#ifndef BERTH_API_FORM_H
#define BERTH_API_FORM_H

#include "api/tables/field.h"
#include "wire/json/json.h"

struct crd_node;

enum form_how {
    FORM_UNKNOWN, /* nothing describes it */
    FORM_OBJECT,  /* an object of a schema */
    FORM_MAP,     /* a whole map of a row */
    FORM_LIST,    /* a whole list of a row */
    FORM_VALUE,   /* by a table, and no object */
    FORM_NODE,    /* of a custom kind */
};

struct form {
    enum form_how how;
    bool atomic; /* whatever it is, it is one value */
    const struct schema *schema;
    const struct field *row;
    const struct crd_node *node;
};

enum form_rule {
    RULE_LEAF,    /* one value, owned as a whole */
    RULE_MEMBERS, /* of an object or map, by name */
    RULE_KEYED,   /* elements by keys */
    RULE_SET,     /* elements by what they are */
};

struct form form_root(const struct schema *s);
/* How a value of this form is to be taken; v may be NULL or null, which are leaves. */
enum form_rule form_rule(const struct form *f, yyjson_mut_val *v);
enum form_rule form_list_rule(const struct form *f); /* of any list of this form */

/* Of a member. *ret_named: the schema has it by this name, and it is no key of a map. *hint is where the last search of
 * this object ended (start with 0), as for schema_find. */
struct form form_member(const struct form *f, struct str name, size_t *hint, bool *ret_named);
/* Whether an object may have a member of this name. */
bool form_allows(const struct form *f, struct str name);
struct form form_element(const struct form *f); /* of a list */

/* Key i of a RULE_KEYED list; false: there are no more. *ret_default: what an element without it has, as JSON text, or
 * empty. */
bool form_key(const struct form *f, size_t i, struct str *ret_name, struct arena *a,
              struct str *ret_default);
/* Why a value cannot be of this form ("expected map, got list"), or NULL. */
const char *form_mismatch(const struct form *f, yyjson_mut_val *v);

#endif
