/*
 * gpus_out: GPUs that are out of service because of an Xid, in node/gpus-out.json, until an administrator clears them.
 *
 * {"gpus":[{"uuid","why"}...]}, written before anybody is told. A restart, a reboot or a card that answers again does
 * not bring a GPU back: what failed once is looked at by somebody first.
 */
#include "node/files/files.h"
#include "node/gpu/gpus_private.h"
#include "wire/text/time.h"

#define FILE_NAME "gpus-out.json"

static struct gpu_out *find(struct gpus *g, struct str uuid) {
    for (size_t i = 0; i < g->n_out; i++) {
        if (str_is(uuid, g->out[i].uuid)) {
            return &g->out[i];
        }
    }
    return NULL;
}

static void write_out(struct gpus *g) {
    struct buf b;
    struct err err;

    buf_init(&b, 1 << 18);
    buf_c(&b, "{\"gpus\":[");
    for (size_t i = 0; i < g->n_out; i++) {
        buf_c(&b, i ? ",{\"uuid\":" : "{\"uuid\":");
        buf_json(&b, str_of(g->out[i].uuid));
        buf_c(&b, ",\"why\":");
        buf_json(&b, str_of(g->out[i].why));
        buf_ch(&b, '}');
    }
    buf_c(&b, "]}\n");
    if (buf_ok(&b) || file_store_synced(g->o.dir, FILE_NAME, buf_view(&b), 0600, &err)) {
        log_error(g->o.log, "GPUs out of service: they would be in service after a restart: %s",
                  buf_ok(&b) ? "no memory" : err.text);
    }
    buf_release(&b);
}

static int read_out(struct gpus *g, yyjson_val *root, struct err *err) {
    yyjson_val *e;
    size_t i, n;

    yyjson_arr_foreach(json_get(root, STR("gpus")), i, n, e) {
        struct gpu_out o = {0};
        if (g->n_out == GPUS_OUT_MAX || json_str_at(e, "uuid").n == 0 ||
            !str_copy(json_str_at(e, "uuid"), o.uuid, sizeof(o.uuid)) ||
            !str_copy(json_str_at(e, "why"), o.why, sizeof(o.why))) {
            return err_set(err, ERR_INVALID,
                           "%s/" FILE_NAME ": entry %zu has no proper uuid and why", g->o.dir, i);
        }
        g->out[g->n_out++] = o;
    }
    return 0;
}

int gpus_out_read(struct gpus *g, struct err *err) {
    struct arena a;
    struct err why;
    yyjson_doc *doc;

    arena_init(&a, 16 << 20);
    int code = file_load_json(g->o.dir, FILE_NAME, &a, &doc, &why);
    code = code ? code : read_out(g, yyjson_doc_get_root(doc), &why);
    arena_release(&a);
    if (code == 0 || code == ERR_NOT_FOUND) {
        return 0;
    }
    return err_set(err, code,
                   "%s: it says which GPUs are out of service; remove it if none is, or write "
                   "{\"gpus\":[]}",
                   why.text);
}

void gpus_out_mark(struct gpus *g, struct card *c) {
    const struct gpu_out *o = c->uuid[0] ? find(g, str_of(c->uuid)) : NULL;

    c->xid = o != NULL;
    if (!c->lost) {
        snprintf(c->trouble, sizeof(c->trouble), "%s", o ? o->why : "");
    }
}

void gpus_out_add(struct gpus *g, struct card *c, const char *what) {
    struct gpu_out *o = find(g, str_of(c->uuid));
    char stamp[TIME_TEXT_MAX];

    if (o == NULL && g->n_out < GPUS_OUT_MAX) {
        o = &g->out[g->n_out++];
        memcpy(o->uuid, c->uuid, sizeof(o->uuid));
        time_text(clock_wall(g->clock), stamp);
        snprintf(o->why, sizeof(o->why), "%s, at %s", what,
                 stamp); /* the first of them: what follows follows from it */
        write_out(g);
    }
    gpus_out_mark(g, c);
    c->xid = true;
}

int gpus_clear(struct gpus *g, struct str uuid, struct err *err) {
    struct gpu_out *o = find(g, uuid);
    struct card *c = gpus_card(g, uuid);
    char text[384];

    if (o == NULL) {
        return err_set(err, ERR_NOT_FOUND, "no GPU %.*s is out of service because of an Xid",
                       STR_ARG(str_head(uuid, GPU_UUID_MAX)));
    }
    snprintf(text, sizeof(text), "GPU %s was cleared, and is in service again%s (it had: %s)",
             o->uuid, c && c->lost ? " once it answers" : "", o->why);
    *o = g->out[--g->n_out];
    write_out(g);
    if (c) {
        gpus_out_mark(g, c);
    }
    g->o.note(g->o.ctx, false, "GpuCleared", text);
    gpus_tell(g);
    return 0;
}
