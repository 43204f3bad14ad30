/* status_notes: see status_notes.h. */
#include "server/kit/status_notes.h"

#include "base/err.h"

/* "berth.dev/x", "cloud.berth.dev/x". */
static bool steers(struct str key) {
    static const char *const domains[] = {"berth.dev", "openshift.io", "kueue.x-k8s.io"};
    struct str domain, name;
    bool is = false;
    if (!str_cut(key, '/', &domain, &name)) {
        return false;
    }
    for (size_t i = 0; i < sizeof domains / sizeof *domains; i++) {
        size_t n = strlen(domains[i]);
        is |= str_ends(domain, str_of(domains[i])) &&
              (domain.n == n || domain.p[domain.n - n - 1] == '.');
    }
    return is;
}

/* Adds to `to` those of `from` that steer, or those that do not. */
static int take(yyjson_mut_doc *d, yyjson_mut_val *from, bool steering, yyjson_mut_val *to) {
    yyjson_mut_obj_iter it = yyjson_mut_obj_iter_with(from);
    for (yyjson_mut_val *k; (k = yyjson_mut_obj_iter_next(&it)) != NULL;) {
        if (steers(json_mstr(k)) == steering &&
            !yyjson_mut_obj_add(to, yyjson_mut_val_mut_copy(d, k),
                                yyjson_mut_val_mut_copy(d, yyjson_mut_obj_iter_get_val(k)))) {
            return ERR_NOMEM;
        }
    }
    return 0;
}

int status_notes(yyjson_mut_doc *d, yyjson_mut_val *now, yyjson_mut_val *obj) {
    yyjson_mut_val *meta = json_mensure(d, obj, "metadata"), *notes = yyjson_mut_obj(d);
    if (meta == NULL || notes == NULL) {
        return ERR_NOMEM;
    }
    int r = take(d, json_mget(meta, STR("annotations")), true, notes);
    r = r ? r : take(d, now, false, notes);
    json_mdel(meta, STR("annotations"));
    return r || yyjson_mut_obj_size(notes) == 0 ? r : json_mset(d, meta, STR("annotations"), notes);
}
