/*
 * gpus_journal: which slices are ours and whose, in node/mig.json, written whole before each change.
 *
 * {"slices":[{"gpu","profile","start","size","gi","uuid","pod"}...],"whole":[{"gpu","pod"}...]}. A slice without a
 * uuid was being made. What it says of a GPU that is not here is kept as it is until the GPU is.
 */
#include <stdio.h>

#include "node/files/files.h"
#include "node/gpu/gpus_private.h"

#define FILE_NAME "mig.json"

enum { AWAITED_MAX = INVENTORY_GPUS_MAX * INVENTORY_INSTANCES_MAX };

static void write_text(struct buf *b, const char *name, const char *text) {
    buf_f(b, ",\"%s\":", name);
    buf_json(b, str_of(text));
}

static void write_slice(struct buf *b, bool *first, const char *gpu, const struct slice *s) {
    buf_f(b, "%s{\"profile\":%d,\"start\":%d,\"size\":%d,\"gi\":%d", *first ? "" : ",", s->profile,
          s->start, s->size, s->instance);
    write_text(b, "gpu", gpu);
    write_text(b, "uuid", s->uuid);
    write_text(b, "pod", s->pod);
    buf_ch(b, '}');
    *first = false;
}

static void write_slices(const struct gpus *g, struct buf *b) {
    bool first = true;

    for (size_t i = 0; i < g->n; i++) {
        for (size_t j = 0; j < INVENTORY_INSTANCES_MAX; j++) {
            const struct slice *s = &g->card[i].slice[j];
            if (s->state != SLICE_NONE && s->ours) {
                write_slice(b, &first, g->card[i].uuid, s);
            }
        }
    }
    for (size_t i = 0; i < g->awaited.n; i++) {
        if (!g->awaited.v[i].whole) {
            write_slice(b, &first, g->awaited.v[i].gpu, &g->awaited.v[i].slice);
        }
    }
}

static void write_holder(struct buf *b, bool *first, const char *gpu, const char *pod) {
    buf_c(b, *first ? "{\"gpu\":" : ",{\"gpu\":");
    buf_json(b, str_of(gpu));
    write_text(b, "pod", pod);
    buf_ch(b, '}');
    *first = false;
}

static void write_whole(const struct gpus *g, struct buf *b) {
    bool first = true;

    for (size_t i = 0; i < g->n; i++) {
        if (g->card[i].pod[0]) {
            write_holder(b, &first, g->card[i].uuid, g->card[i].pod);
        }
    }
    for (size_t i = 0; i < g->awaited.n; i++) {
        if (g->awaited.v[i].whole) {
            write_holder(b, &first, g->awaited.v[i].gpu, g->awaited.v[i].slice.pod);
        }
    }
}

void gpus_journal_write(struct gpus *g) {
    struct buf b;
    struct err err;

    buf_init(&b, 4 << 20);
    buf_c(&b, "{\"slices\":[");
    write_slices(g, &b);
    buf_c(&b, "],\"whole\":[");
    write_whole(g, &b);
    buf_c(&b, "]}\n");
    if (buf_ok(&b) || file_store_synced(g->o.dir, FILE_NAME, buf_view(&b), 0600, &err)) {
        log_error(g->o.log, "the MIG journal cannot be written: %s",
                  buf_ok(&b) ? "no memory" : err.text);
    }
    buf_release(&b);
}

/* ---- reading ---- */

/* Is what stands at its place what the entry speaks of? Where its create was not answered, whatever stands there is.
 * What is half made or half removed has no UUID: then the driver's number of it decides. With another UUID it was made
 * anew by someone else. */
static bool is_it(const struct slice *s, const struct slice *entry) {
    if (!entry->uuid[0]) {
        return true;
    }
    return s->uuid[0] ? !strcmp(s->uuid, entry->uuid)
                      : entry->instance >= 0 && entry->instance == s->instance;
}

static void restore_slice(struct gpus *g, struct card *c, const struct slice *entry) {
    struct slice *s = card_slice(c, entry->profile, entry->start);

    if (s && s->state == SLICE_LIVE && is_it(s, entry)) {
        s->ours = true;
        s->pod[0] = 0;
        if (entry->uuid[0] && entry->pod[0] && g->alive(g->start_ctx, str_of(entry->pod))) {
            memcpy(s->pod, entry->pod, sizeof(s->pod));
        }
    } else if (s == NULL && !entry->uuid[0] && (s = card_free_slot(c))) {
        *s = *entry; /* the helper of a node that died may still be in the driver */
        s->state = SLICE_ASTRAY;
        s->pod[0] = 0;
        s->astray_mono = clock_mono(g->clock);
    }
}

static void restore(struct gpus *g, struct card *c, const struct awaited *k) {
    if (!k->whole) {
        restore_slice(g, c, &k->slice);
    } else if (g->alive(g->start_ctx, str_of(k->slice.pod))) {
        memcpy(c->pod, k->slice.pod, sizeof(c->pod));
    }
}

void gpus_journal_place(struct gpus *g) {
    size_t left = 0;

    for (size_t i = 0; i < g->awaited.n; i++) {
        struct card *c = gpus_card(g, str_of(g->awaited.v[i].gpu));
        if (c) {
            restore(g, c, &g->awaited.v[i]);
        } else {
            g->awaited.v[left++] = g->awaited.v[i];
        }
    }
    g->awaited.n = left;
    gpus_journal_write(g);
}

static void keep(struct gpus *g, yyjson_val *e, bool whole) {
    struct awaited k = {.whole = whole,
                        .slice = {.ours = true,
                                  .profile = (int32_t)json_i64_at(e, "profile", -1),
                                  .start = (int32_t)json_i64_at(e, "start", -1),
                                  .size = (int32_t)json_i64_at(e, "size", 0),
                                  .instance = (int32_t)json_i64_at(e, "gi", -1),
                                  .utilization = -1}};

    if (g->awaited.n < AWAITED_MAX && str_copy(json_str_at(e, "gpu"), k.gpu, sizeof(k.gpu)) &&
        str_copy(json_str_at(e, "uuid"), k.slice.uuid, sizeof(k.slice.uuid)) &&
        str_copy(json_str_at(e, "pod"), k.slice.pod, sizeof(k.slice.pod)) && k.gpu[0]) {
        awaited_vec_push(&g->awaited, k);
    }
}

static void keep_all(struct gpus *g, yyjson_val *list, bool whole) {
    yyjson_arr_iter it;
    yyjson_val *e;

    yyjson_arr_iter_init(list, &it);
    while ((e = yyjson_arr_iter_next(&it))) {
        keep(g, e, whole);
    }
}

/* Nobody knows any more which instances are ours: they are shown as foreign, for an operator to remove. */
static void put_aside(struct gpus *g, const char *why) {
    char path[PATH_LEN], aside[PATH_LEN], text[512];

    if (path_join(path, g->o.dir, FILE_NAME, NULL) ||
        path_join(aside, g->o.dir, FILE_NAME ".damaged", NULL) || rename(path, aside) == -1) {
        aside[0] = 0;
    }
    snprintf(text, sizeof(text),
             "%.300s; it is now %s.damaged, and MIG instances that are there already are left "
             "alone: remove with nvidia-smi what nobody uses",
             why, FILE_NAME);
    g->o.note(g->o.ctx, true, "MigJournalDamaged", text);
}

void gpus_journal_read(struct gpus *g) {
    struct arena a;
    struct err err;
    yyjson_doc *doc;

    arena_init(&a, 16 << 20);
    int code = file_load_json(g->o.dir, FILE_NAME, &a, &doc, &err);
    if (code == 0) {
        yyjson_val *root = yyjson_doc_get_root(doc);
        keep_all(g, json_get(root, STR("slices")), false);
        keep_all(g, json_get(root, STR("whole")), true);
    } else if (code != ERR_NOT_FOUND) {
        put_aside(g, err.text);
    }
    arena_release(&a);
}
