/* node_self: see node_self.h. */
#include "node/node_self.h"

#include "api/inventory.h"
#include "base/mem.h"
#include "node/node_private.h"

struct node_self {
    struct node *n;
    struct mirror *mirror;
    struct feed *feed;
    struct reflector *reflector;
    const struct kind *kind;
};

static const struct object *current(const struct node_self *s) {
    return s ? mirror_get(s->mirror, s->kind, STR(""), str_of(s->n->name)) : NULL;
}

/* ---- GPUs that are cleared ---- */

static void on_taken_away(void *ctx, const struct write_result *r) {
    /* A conflict: somebody asked for more meanwhile, and the next change of the Node brings it. */
}

/* With the version that was read: what was added since stays. */
static void take_away(struct node *n, struct str version) {
    struct buf b;

    buf_init(&b, 4096);
    buf_c(&b, "{\"metadata\":{\"resourceVersion\":");
    buf_json(&b, version);
    buf_c(&b, ",\"annotations\":{\"" CLEAR_GPUS_ANNOTATION "\":null}}}");
    writer_patch(n->writer, "berth-node", kind_by_name(STR(""), STR("Node")), STR(""),
                 str_of(n->name), "", PATCH_MERGE, buf_view(&b), on_taken_away, NULL);
    buf_release(&b);
}

static void clear(struct node *n, struct str uuids) {
    struct str uuid;
    struct err err;

    while (str_next(&uuids, ',', &uuid)) {
        uuid = str_trim(uuid);
        if (n->gpus && !str_empty(uuid) && gpus_clear(n->gpus, uuid, &err)) {
            node_event(n, true, "GpuNotCleared", err.text);
        }
    }
}

static void on_node(void *ctx, const struct change *c) {
    struct node_self *s = ctx;
    struct arena a;
    yyjson_doc *doc;

    if (c->type == CHANGE_DELETED) {
        return;
    }
    arena_init(&a, 32 << 20);
    if (object_tree(c->obj, &a, &doc, NULL) == 0) {
        yyjson_val *meta = json_get(yyjson_doc_get_root(doc), STR("metadata"));
        yyjson_val *asked =
            json_get(json_get(meta, STR("annotations")), STR(CLEAR_GPUS_ANNOTATION));
        if (asked) {
            clear(s->n, json_str(asked));
            take_away(s->n, json_str_at(meta, "resourceVersion"));
        }
    }
    arena_release(&a);
}

/* ---- what an earlier life left ---- */

static bool is_our_label(struct str name) {
    static const char *const prefixes[] = {"nvidia.com/gpu.", "nvidia.com/mig-",
                                           "nvidia.com/mig.", "nvidia.com/cuda.",
                                           "nvidia.com/mps.", "nvidia.com/vgpu."};

    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        if (str_starts(name, str_of(prefixes[i]))) {
            return true;
        }
    }
    return false;
}

static bool is_our_resource(struct str name) {
    return str_is(name, "nvidia.com/gpu") || str_starts(name, STR("nvidia.com/mig-"));
}

static void add_stale(const struct node_self *s, const char *path, bool (*ours)(struct str name),
                      struct str fresh, struct buf *out) {
    const struct object *o = current(s);
    yyjson_doc *doc, *new_doc;
    yyjson_val *key, *value;
    struct arena a;
    size_t i, n;

    arena_init(&a, 64 << 20);
    struct str text = arena_f(&a, "{%.*s}", STR_ARG(fresh));
    if (o && object_tree(o, &a, &doc, NULL) == 0 && json_parse(&a, text, &new_doc, NULL) == 0) {
        yyjson_obj_foreach(json_path(yyjson_doc_get_root(doc), path), i, n, key, value) {
            if (ours(json_str(key)) &&
                json_get(yyjson_doc_get_root(new_doc), json_str(key)) == NULL) {
                buf_ch(out, ',');
                buf_json(out, json_str(key));
                buf_c(out, ":null");
            }
        }
    }
    arena_release(&a);
}

void node_self_stale_labels(const struct node_self *s, struct str fresh, struct buf *out) {
    add_stale(s, "metadata.labels", is_our_label, fresh, out);
}

void node_self_stale_resources(const struct node_self *s, struct str fresh, struct buf *out) {
    add_stale(s, "status.capacity", is_our_resource, fresh, out);
}

/* ---- life ---- */

static void on_synced(void *ctx) {
    node_publish(((struct node_self *)ctx)->n); /* what is left over is known now */
}

int node_self_start(struct node *n, struct node_self **ret, struct err *err) {
    struct node_self *s = mem_zalloc(sizeof(*s));
    struct arena a;

    if (s == NULL) {
        return err_set(err, ERR_NOMEM, "no memory");
    }
    s->n = n;
    s->kind = kind_by_name(STR(""), STR("Node"));
    s->mirror = mirror_new(
        &(struct mirror_options){.clock = n->clock, .history_events = MIRROR_NO_HISTORY});
    s->feed = s->mirror ? mirror_feed(s->mirror, s->kind, on_node, s) : NULL;
    arena_init(&a, 1 << 16);
    const struct reflector_options o = {.kind = s->kind,
                                        .field_selector = arena_f(&a, "metadata.name=%s", n->name),
                                        .synced = on_synced,
                                        .ctx = s};
    err_set(err, ERR_NOMEM, "no memory");
    s->reflector = s->feed ? reflector_start(n->kube, s->mirror, &o, err) : NULL;
    arena_release(&a);
    if (s->reflector == NULL) {
        node_self_free(s);
        return err ? err->code : ERR_NOMEM;
    }
    *ret = s;
    return 0;
}

void node_self_free(struct node_self *s) {
    if (s == NULL) {
        return;
    }
    reflector_free(s->reflector);
    feed_free(s->feed);
    mirror_free(s->mirror);
    mem_free(s);
}
