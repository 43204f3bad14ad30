/* serve_runtimes: one key; what is missing first, the marker after it. See serve_runtimes.h. */
#include "control/serve/serve_runtimes.h"

#include "api/meta.h"
#include "api/schema/codec.h"
#include "api/tables/view_core.h"
#include "base/limits.h"
#include "control/kit/edit.h"
#include "wire/yaml.h"

#define MARKER_NS "kube-system"
#define MARKER "berth-runtimes"

enum { RUNTIMES, MARKERS, NAMESPACES };

extern const unsigned char shipped_runtimes[]; /* by scripts/embed-text */
extern const size_t shipped_runtimes_size;

struct shipped_look {
    struct controller *c;
    struct yaml_docs docs;
    const struct object *marker;
    struct config_map was; /* of the marker */
};

static int look(struct shipped_look *l) {
    struct arena *a = &l->c->arena;
    struct str text = str_from((const char *)shipped_runtimes, shipped_runtimes_size);
    yyjson_doc *d;
    int r = yaml_parse(a, text, &l->docs, NULL);
    l->marker = mirror_get(l->c->env.mirror, l->c->kinds[MARKERS], STR(MARKER_NS), STR(MARKER));
    if (r == 0 && l->marker != NULL) {
        r = object_tree(l->marker, a, &d, NULL);
        r = r ? r : codec_decode(&schema_config_map, yyjson_doc_get_root(d), a, &l->was, NULL);
    }
    return r;
}

static bool is_made(const struct shipped_look *l, struct str name) {
    return meta_value(&l->was.data, name).n > 0;
}

static struct str name_of(const struct shipped_look *l, size_t i) {
    return json_mstr_at(l->docs.v[i]->root, "metadata.name");
}

static void create(struct shipped_look *l, struct round *r, size_t i) {
    struct buf b;
    buf_init(&b, LIMIT_OBJECT_BYTES);
    json_write_mut(&b, l->docs.v[i]->root);
    if (buf_ok(&b) == 0) {
        round_create(r, l->c->kinds[RUNTIMES], STR(""), buf_view(&b));
    } else {
        round_fail(r, ERR_NOMEM);
    }
    buf_release(&b);
}

/* What is to be made and is not there; true when something was. */
static bool make(struct shipped_look *l, struct round *r) {
    bool any = false;
    for (size_t i = 0; i < l->docs.n; i++) {
        struct str name = name_of(l, i);
        if (!is_made(l, name) &&
            mirror_get(l->c->env.mirror, l->c->kinds[RUNTIMES], STR(""), name) == NULL) {
            create(l, r, i);
            any = true;
        }
    }
    return any;
}

static void mark(struct shipped_look *l, struct round *r) {
    struct meta meta = {.name = STR(MARKER), .namespace = STR(MARKER_NS)};
    struct config_map want = l->marker ? l->was : (struct config_map){.metadata = &meta};
    int code = 0;
    for (size_t i = 0; code == 0 && i < l->docs.n; i++) {
        struct str name = name_of(l, i);
        const char *key = arena_f(&l->c->arena, "%.*s", STR_ARG(name)).p;
        code = key == NULL        ? ERR_NOMEM
               : is_made(l, name) ? 0
                                  : meta_set(&want.data, &l->c->arena, key, STR("made"));
    }
    if (code != 0) {
        round_fail(r, code);
    } else if (l->marker == NULL) {
        (void)edit_create(r, l->c->kinds[MARKERS], STR(MARKER_NS), &want);
    } else {
        (void)edit_send(r, l->marker, "", EDIT_VERSION, &l->was, &want);
    }
}

static enum work step(void *self, struct work_key key) {
    struct controller *c = self;
    struct shipped_look l = {.c = c};
    if (c->kinds[RUNTIMES] == NULL ||
        mirror_get(c->env.mirror, c->kinds[NAMESPACES], STR(""), STR(MARKER_NS)) == NULL) {
        return WORK_OK;
    }
    if (look(&l) != 0) {
        return WORK_RETRY;
    }
    struct round *r = controller_begin(c);
    if (make(&l, r)) {
        workqueue_look(c->queue, (struct work_key){0}, 0); /* the marker, after this */
    } else {
        mark(&l, r);
    }
    return round_end(r);
}

static void start(void *self) {
    workqueue_look(((struct controller *)self)->queue, (struct work_key){0}, 0);
}

static void namespace_changed(void *self, const struct change *ch) {
    if (ch->type == CHANGE_ADDED && str_is(ch->obj->name, MARKER_NS)) {
        start(self);
    }
}

const struct controller_row serve_runtimes_controller = {
    .name = "defaults",
    .set = CONTROL_DEFAULTS,
    .who = "berth-runtimes",
    CONTROLLER_KINDS([RUNTIMES] = {"serving.kserve.io", "ClusterServingRuntime", .may = MAY_CREATE,
                                   .optional = true},
                     [MARKERS] = {"", "ConfigMap", .may = MAY_CREATE | MAY_PATCH},
                     [NAMESPACES] = {"", "Namespace", namespace_changed}),
    .start = start,
    .step = step,
};
