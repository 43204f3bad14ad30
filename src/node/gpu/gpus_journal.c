/*
 * gpus_journal: which slices are ours and whose, in node/mig.json, written whole by rename before
 * each change.
 *
 * {"slices":[{"gpu","profile","start","size","uuid","pod"}...],"whole":[{"gpu","pod"}...]}. A slice
 * without a uuid was being made.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "node/files/files.h"
#include "node/gpu/gpus_int.h"

static void write_text(struct buf *b, const char *name, const char *text) {
    buf_f(b, ",\"%s\":", name);
    buf_json(b, str_of(text));
}

void gpus_journal_write(struct gpus *g) {
    struct buf b;
    struct err err;
    bool first = true;

    buf_init(&b, 1 << 20);
    buf_c(&b, "{\"slices\":[");
    for (size_t i = 0; i < g->n; i++) {
        for (size_t j = 0; j < INVENTORY_INSTANCES_MAX; j++) {
            const struct slice *s = &g->card[i].slice[j];
            if (s->state == SLICE_NONE || !s->ours) {
                continue;
            }
            buf_f(&b, "%s{\"profile\":%d,\"start\":%d,\"size\":%d", first ? "" : ",", s->profile,
                  s->start, s->size);
            write_text(&b, "gpu", g->card[i].uuid);
            write_text(&b, "uuid", s->uuid);
            write_text(&b, "pod", s->pod);
            buf_ch(&b, '}');
            first = false;
        }
    }
    buf_c(&b, "],\"whole\":[");
    first = true;
    for (size_t i = 0; i < g->n; i++) {
        if (g->card[i].pod[0]) {
            buf_f(&b, "%s{\"index\":%d", first ? "" : ",", g->card[i].index);
            write_text(&b, "gpu", g->card[i].uuid);
            write_text(&b, "pod", g->card[i].pod);
            buf_ch(&b, '}');
            first = false;
        }
    }
    buf_c(&b, "]}\n");
    if (buf_ok(&b) || file_store(g->o.dir, "mig.json", buf_view(&b), 0600, &err)) {
        log_error(g->o.log, "the MIG journal cannot be written: %s",
                  buf_ok(&b) ? "no memory" : err.text);
    }
    buf_release(&b);
}

static void restore_slice(struct gpus *g, yyjson_val *e) {
    struct card *c = gpus_card(g, json_str_at(e, "gpu"));
    struct slice *s = c ? card_slice(c, (int32_t)json_i64_at(e, "profile", -1),
                                     (int32_t)json_i64_at(e, "start", -1))
                        : NULL;
    struct str uuid = json_str_at(e, "uuid"), pod = json_str_at(e, "pod");

    /* With another UUID it was made anew by someone else. */
    if (s == NULL || (!str_empty(uuid) && !str_is(uuid, s->uuid))) {
        return;
    }
    s->ours = true;
    s->pod[0] = 0;
    if (!str_empty(pod) && g->alive(g->start_ctx, pod)) {
        str_copy(pod, s->pod, sizeof(s->pod));
    }
}

void gpus_journal_read(struct gpus *g) {
    struct arena a;
    struct str text;
    yyjson_doc *doc;
    yyjson_arr_iter it;
    yyjson_val *e;

    arena_init(&a, 16 << 20);
    if (file_load(g->o.dir, "mig.json", &a, &text, NULL) || json_parse(&a, text, &doc, NULL)) {
        arena_release(&a);
        return;
    }
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_arr_iter_init(json_get(root, STR("slices")), &it);
    while ((e = yyjson_arr_iter_next(&it))) {
        restore_slice(g, e);
    }
    yyjson_arr_iter_init(json_get(root, STR("whole")), &it);
    while ((e = yyjson_arr_iter_next(&it))) {
        struct card *c = gpus_card(g, json_str_at(e, "gpu"));
        struct str pod = json_str_at(e, "pod");
        if (c && g->alive(g->start_ctx, pod)) {
            str_copy(pod, c->pod, sizeof(c->pod));
        }
    }
    arena_release(&a);
}
