/* claim_users: a map of maps. See claim_users.h. */
#include "control/volumes/claim_users.h"

#include "base/mem.h"

struct claim_pod {
    char uid[64];
};
struct pods_of_claim {
    char *key;
    struct map pods; /* by uid */
};

static void users_free(struct pods_of_claim *s) {
    const struct map_entry *e;
    for (size_t i = 0; (e = map_next(&s->pods, &i)) != NULL;) {
        mem_free(e->value);
    }
    map_release(&s->pods);
    mem_free(s->key);
    mem_free(s);
}

void claim_users_release(struct claim_users *u) {
    const struct map_entry *e;
    for (size_t i = 0; (e = map_next(&u->claims, &i)) != NULL;) {
        users_free(e->value);
    }
    map_release(&u->claims);
    map_init(&u->claims);
}

static struct str key_of(char out[600], struct str ns, struct str claim) {
    int n = snprintf(out, 600, "%.*s/%.*s", STR_ARG(ns), STR_ARG(claim));
    return str_from(out, n < 0 || n >= 600 ? 0 : (size_t)n);
}

static struct pods_of_claim *users_of(struct claim_users *u, struct str key) {
    struct pods_of_claim *s = map_get(&u->claims, key);
    if (s != NULL) {
        return s;
    }
    s = mem_zalloc(sizeof(*s));
    char *text = s != NULL ? mem_cstr(key) : NULL;
    if (text == NULL || map_put(&u->claims, str_of(text), s, NULL) != 0) {
        mem_free(text);
        mem_free(s);
        return NULL;
    }
    s->key = text;
    return s;
}

static int add(struct claim_users *u, struct str key, struct str uid) {
    struct pods_of_claim *s = users_of(u, key);
    struct claim_pod *one =
        s != NULL && map_get(&s->pods, uid) == NULL ? mem_zalloc(sizeof(*one)) : NULL;
    if (s == NULL || (one == NULL && map_get(&s->pods, uid) == NULL)) {
        return ERR_NOMEM;
    }
    if (one != NULL && (!str_copy(uid, one->uid, sizeof(one->uid)) ||
                        map_put(&s->pods, str_of(one->uid), one, NULL) != 0)) {
        mem_free(one);
        return ERR_NOMEM;
    }
    return 0;
}

static void take(struct claim_users *u, struct str key, struct str uid) {
    struct pods_of_claim *s = map_get(&u->claims, key);
    if (s == NULL) {
        return;
    }
    mem_free(map_del(&s->pods, uid));
    if (map_count(&s->pods) == 0) {
        (void)map_del(&u->claims, key);
        users_free(s);
    }
}

int claim_users_change(struct claim_users *u, const struct change *ch, struct arena *a,
                       void (*each)(void *ctx, struct str ns, struct str claim), void *ctx) {
    const struct object *o = ch->obj;
    yyjson_doc *doc;
    size_t i, n;
    yyjson_val *v;
    int r = 0;
    /* Most pods name no claim: a search through the text is cheaper than a tree. What a pod's volumes are never
     * changes, so the new state says what the old one said. */
    if (!str_contains(o->json, STR("\"claimName\""))) {
        return 0;
    }
    r = object_tree(o, a, &doc, NULL);
    yyjson_arr_foreach(r == 0 ? json_path(yyjson_doc_get_root(doc), "spec.volumes") : NULL, i, n,
                       v) {
        char text[600];
        struct str claim = json_str_at(v, "persistentVolumeClaim.claimName");
        struct str key = key_of(text, o->ns, claim);
        if (claim.n == 0 || key.n == 0) {
            continue;
        }
        if (ch->type == CHANGE_DELETED) {
            take(u, key, o->uid);
        } else {
            r = r ? r : add(u, key, o->uid);
        }
        each(ctx, o->ns, claim);
    }
    return r;
}

void claim_users_each(const struct claim_users *u, struct str ns, struct str claim,
                      bool (*each)(void *ctx, struct str uid), void *ctx) {
    char text[600];
    const struct pods_of_claim *s = map_get(&u->claims, key_of(text, ns, claim));
    const struct map_entry *e;
    for (size_t i = 0; s != NULL && (e = map_next(&s->pods, &i)) != NULL && each(ctx, e->key);) {
    }
}

size_t claim_users_count(const struct claim_users *u, struct str ns, struct str claim) {
    char text[600];
    const struct pods_of_claim *s = map_get(&u->claims, key_of(text, ns, claim));
    return s != NULL ? map_count(&s->pods) : 0;
}
