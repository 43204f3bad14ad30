/* json_edit: many changes of one object. See json_edit.h. */
#include "wire/json/json_edit.h"

enum { WALK_MAX = 64 }; /* members, or changes, up to which walking is as fast */

static struct str name_of(yyjson_mut_val *key) {
    return (struct str){unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key)};
}

int json_edit_begin(struct json_edit *e, yyjson_mut_doc *d, yyjson_mut_val *obj, size_t changes) {
    size_t i, max;
    yyjson_mut_val *key, *val;
    *e = (struct json_edit){.doc = d, .obj = obj};
    if (changes <= WALK_MAX) {
        return 0;
    }
    e->indexed = true;
    yyjson_mut_obj_foreach(obj, i, max, key, val) {
        if (map_put(&e->keys, name_of(key), key, NULL) != 0) {
            map_release(&e->keys);
            e->indexed = false;
            return ERR_NOMEM;
        }
    }
    return 0;
}

yyjson_mut_val *json_edit_get(struct json_edit *e, struct str name) {
    if (!e->indexed) {
        return json_mget(e->obj, name);
    }
    yyjson_mut_val *key = map_get(&e->keys, name);
    return key ? key->next : NULL;
}

int json_edit_set(struct json_edit *e, struct str name, yyjson_mut_val *v) {
    if (!e->indexed) {
        return json_mset(e->doc, e->obj, name, v);
    }
    yyjson_mut_val *key = map_get(&e->keys, name);
    if (key) { /* members form a ring: key, value, key, ... */
        v->next = key->next->next;
        key->next = v;
        return 0;
    }
    key = yyjson_mut_strncpy(e->doc, name.p ? name.p : "", name.n);
    if (key == NULL || map_put(&e->keys, name_of(key), key, NULL) != 0) {
        return ERR_NOMEM;
    }
    yyjson_mut_obj_add(e->obj, key, v);
    return 0;
}

void json_edit_del(struct json_edit *e, struct str name) {
    if (e->indexed) {
        map_del(&e->keys, name); /* what the table does not know is swept at the end */
    } else {
        json_mdel(e->obj, name);
    }
}

void json_edit_end(struct json_edit *e) {
    if (e->indexed) {
        yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(e->obj);
        for (yyjson_mut_val *key; (key = yyjson_mut_obj_iter_next(&it));) {
            if (map_get(&e->keys, name_of(key)) != key) {
                yyjson_mut_obj_iter_remove(&it);
            }
        }
    }
    map_release(&e->keys);
    e->indexed = false;
}
