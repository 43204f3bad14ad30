/*
 * json_edit: many changes of one object, each in constant time.
 *
 * Members of a document are found by walking; that is best for the objects people write, and quadratic for the ones
 * attackers write. An edit walks while the object and the number of changes are small, and else keeps a table of the
 * members. Until json_edit_end the object may be changed only through the edit. Deleted members, and all but the last
 * of those that stood twice, are gone after the end.
 */
#ifndef BERTH_WIRE_JSON_EDIT_H
#define BERTH_WIRE_JSON_EDIT_H

#include "base/map.h"
#include "wire/json/json.h"

struct json_edit {
    yyjson_mut_doc *doc;
    yyjson_mut_val *obj;
    struct map keys; /* name -> key node, when indexed */
    bool indexed;
};

/* `changes`: about how many will come. 0 or ERR_NOMEM; end it in both cases. */
int json_edit_begin(struct json_edit *e, yyjson_mut_doc *d, yyjson_mut_val *obj, size_t changes);
yyjson_mut_val *json_edit_get(struct json_edit *e, struct str name);        /* NULL when absent */
int json_edit_set(struct json_edit *e, struct str name, yyjson_mut_val *v); /* 0 or ERR_NOMEM */
void json_edit_del(struct json_edit *e, struct str name);
void json_edit_end(struct json_edit *e);

#endif
