/*
 * gpus_read: what the helper answers, into cards; Xids and lost GPUs into trouble.
 *
 * A lost GPU no longer says its UUID: it is known by its index, and its card stays as it was,
 * unhealthy.
 */
#include "node/gpu/gpus_private.h"

static void copy_text(yyjson_val *v, const char *name, char *out, size_t cap) {
    struct str s = json_str_at(v, name);

    if (!str_empty(s)) {
        str_copy(str_head(s, cap - 1), out, cap);
    }
}

static int32_t known(yyjson_val *v, const char *name) {
    return (int32_t)json_i64_at(v, name, -1);
}

static void read_numbers(struct card *c, yyjson_val *v) {
    c->utilization = known(v, "utilization");
    c->temperature = known(v, "temperature");
    c->power_mw = known(v, "power");
    c->memory_used_mib = known(v, "memoryUsedMiB");
}

static void read_profiles(struct card *c, yyjson_val *v) {
    yyjson_arr_iter it;
    yyjson_val *e;

    c->n_profiles = 0;
    yyjson_arr_iter_init(json_get(v, STR("profiles")), &it);
    while ((e = yyjson_arr_iter_next(&it)) && c->n_profiles < INVENTORY_PROFILES_MAX) {
        size_t i = c->n_profiles++;
        struct gpu_profile *p = &c->profiles[i];

        copy_text(e, "name", c->names[i], sizeof(c->names[i]));
        char resource[64];
        int n = snprintf(resource, sizeof(resource), "nvidia.com/mig-%.*s",
                         STR_ARG(str_of(c->names[i])));
        for (int k = 0; k < n; k++) {
            resource[k] = resource[k] == '+' ? '.' : resource[k];
        }
        memcpy(c->resources[i], resource, sizeof(resource));
        *p = (struct gpu_profile){.name = str_of(c->names[i]),
                                  .resource = str_of(c->resources[i]),
                                  .id = known(e, "id"),
                                  .size = known(e, "size"),
                                  .compute_slices = known(e, "compute"),
                                  .memory_mib = known(e, "memoryMiB"),
                                  .max_instances = known(e, "max"),
                                  .starts = (uint32_t)json_i64_at(e, "starts", 0),
                                  .media = json_bool_at(e, "media", false)};
        c->engines[i] =
            (struct profile_engines){known(e, "sm"),      known(e, "copy"), known(e, "decoder"),
                                     known(e, "encoder"), known(e, "jpeg"), known(e, "ofa")};
    }
}

static struct slice *new_foreign(struct card *c, yyjson_val *e) {
    struct slice *s = card_free_slot(c);

    if (s) {
        *s = (struct slice){.state = SLICE_LIVE,
                            .profile = known(e, "profile"),
                            .start = known(e, "start"),
                            .size = known(e, "size"),
                            .pod = GPUS_FOREIGN};
    }
    return s;
}

/* The instance of a create that was not answered: ours, and nobody's. */
static void found_astray(struct gpus *g, const struct card *c, struct slice *s) {
    char text[256];

    s->state = SLICE_LIVE;
    s->pod[0] = 0;
    snprintf(text, sizeof(text),
             "GPU %d (%s): the MIG instance of profile %d at memory slice %d, whose creation the "
             "driver did not answer in time, was found and is removed",
             c->index, c->uuid, s->profile, s->start);
    g->o.note(g->o.ctx, false, "MigInstanceFound", text);
}

/* Not shown by a driver that answers, for long enough, and no helper is stuck in it that could still make it. */
static bool is_forgotten(const struct gpus *g, const struct slice *s) {
    return s->state == SLICE_ASTRAY && nvml_client_stuck(g->o.nvml) == 0 &&
           clock_mono(g->clock) - s->astray_mono >= g->o.forget_ms * NS_PER_MS;
}

/* What the driver has against what we think: vanished slices go, unknown ones are foreign. */
static bool read_instances(struct gpus *g, struct card *c, yyjson_val *v) {
    bool seen[INVENTORY_INSTANCES_MAX] = {0}, changed = false, journal = false;
    yyjson_arr_iter it;
    yyjson_val *e;

    yyjson_arr_iter_init(json_get(v, STR("instances")), &it);
    while ((e = yyjson_arr_iter_next(&it))) {
        struct slice *s = card_slice(c, known(e, "profile"), known(e, "start"));
        if (s == NULL) {
            s = new_foreign(c, e);
            changed = true;
        } else if (s->state == SLICE_ASTRAY) {
            found_astray(g, c, s);
            changed = true;
        }
        if (s) {
            seen[s - c->slice] = true;
            s->utilization = known(e, "utilization");
            s->instance = known(e, "gi");
            changed |= s->state == SLICE_LIVE && !str_eq(str_of(s->uuid), json_str_at(e, "uuid"));
            if (s->state == SLICE_LIVE) {
                copy_text(e, "uuid", s->uuid, sizeof(s->uuid));
            }
        }
    }
    for (size_t i = 0; i < INVENTORY_INSTANCES_MAX; i++) {
        struct slice *s = &c->slice[i];
        if (!seen[i] && (s->state == SLICE_LIVE || is_forgotten(g, s))) {
            changed |= s->state == SLICE_LIVE;
            journal |= s->ours;
            *s = (struct slice){0};
        }
    }
    if (journal) {
        gpus_journal_write(g);
    }
    return changed;
}

static void tell_holders(struct gpus *g, const struct card *c, const char *why) {
    if (c->pod[0]) {
        g->o.trouble(g->o.ctx, str_of(c->pod), why);
    }
    for (size_t i = 0; i < INVENTORY_INSTANCES_MAX; i++) {
        if (c->slice[i].state != SLICE_NONE && c->slice[i].ours && c->slice[i].pod[0]) {
            g->o.trouble(g->o.ctx, str_of(c->slice[i].pod), why);
        }
    }
}

static void set_lost(struct gpus *g, struct card *c, const char *why) {
    char text[256];

    if (c->lost) {
        return;
    }
    c->lost = true;
    snprintf(c->trouble, sizeof(c->trouble), "%s", why);
    snprintf(text, sizeof(text), "GPU %d (%s) is taken out of service: %s", c->index, c->uuid, why);
    g->o.note(g->o.ctx, true, "GpuUnhealthy", text);
    tell_holders(g, c, text);
    gpus_tell(g);
}

/* A lost GPU does not say its UUID: it is the card of its index. One that was lost from the start is named by a scan,
 * which reads all there is to know of it. */
static struct card *card_at(struct gpus *g, yyjson_val *v, bool all) {
    struct str uuid = json_str_at(v, "uuid");
    struct card *c = gpus_card(g, uuid);
    int32_t index = known(v, "index");

    for (size_t i = 0; c == NULL && i < g->n; i++) {
        struct card *o = &g->card[i];
        if (!o->seen && o->index == index && (str_empty(uuid) || (all && !o->uuid[0]))) {
            c = o;
            copy_text(v, "uuid", c->uuid, sizeof(c->uuid));
        }
    }
    return c;
}

static struct card *new_card(struct gpus *g, yyjson_val *v) {
    struct card *c = &g->card[g->n];

    if (g->n == INVENTORY_GPUS_MAX) {
        return NULL;
    }
    g->n++;
    gpus_tell(g);
    *c = (struct card){.index = known(v, "index")};
    copy_text(v, "uuid", c->uuid, sizeof(c->uuid));
    return c;
}

static void read_card(struct gpus *g, yyjson_val *v, bool all) {
    struct card *c = card_at(g, v, all);

    g->rescan |= c == NULL && !all;
    if (c == NULL && (!all || (c = new_card(g, v)) == NULL)) {
        return;
    }
    c->seen = true;
    c->index = known(v, "index");
    struct str trouble = json_str_at(v, "trouble");
    if (!str_empty(trouble)) {
        char why[96];
        snprintf(why, sizeof(why), "%.*s", STR_ARG(str_head(trouble, 90)));
        set_lost(g, c, why);
        return;
    }
    if (c->lost) { /* it is back */
        c->lost = c->gone = false;
        gpus_out_mark(g, c);
        gpus_tell(g);
    }
    read_numbers(c, v);
    c->memory_mib = known(v, "memoryMiB");
    c->mig_capable = json_bool_at(v, "migCapable", false);
    bool mig = json_bool_at(v, "mig", false), changed = mig != c->mig;
    c->mig = mig;
    if (all) {
        copy_text(v, "name", c->model, sizeof(c->model));
        copy_text(v, "board", c->board, sizeof(c->board));
        c->compute_major = known(v, "computeMajor");
        c->compute_minor = known(v, "computeMinor");
        c->minor = known(v, "minor");
        c->slices = (int32_t)json_i64_at(v, "slices", 0);
        c->slices = c->slices > INVENTORY_SLICES_MAX ? 0 : c->slices;
        read_profiles(c, v);
        gpus_out_mark(g, c);
    }
    if (read_instances(g, c, v) || changed) {
        gpus_tell(g);
    }
}

/* Not in a complete scan any more: taken out of the machine. What ran there ends; then the card goes. */
static void miss_cards(struct gpus *g) {
    for (size_t i = 0; i < g->n; i++) {
        struct card *c = &g->card[i];
        if (!c->seen && !c->gone) {
            c->gone = true;
            set_lost(g, c, "it is not in this machine any more");
        }
    }
}

/* Those that say who they are first: what is left is a lost one's by its index. */
static void read_gpus(struct gpus *g, yyjson_val *answer, bool all) {
    yyjson_val *list = json_get(answer, STR("gpus")), *e;
    size_t k, n, shown = 0;

    for (size_t i = 0; i < g->n; i++) {
        g->card[i].seen = false;
        shown += !g->card[i].gone;
    }
    g->rescan |= !all && yyjson_arr_size(list) < shown;
    for (int lost = 0; lost <= 1; lost++) {
        yyjson_arr_foreach(list, k, n, e) {
            if (str_empty(json_str_at(e, "uuid")) == (lost == 1)) {
                read_card(g, e, all);
            }
        }
    }
    if (all) {
        miss_cards(g);
    }
}

/* The Xids that mean trouble with the GPU itself. Others (13, 31, 43, 45, 68, 109 ...) are an
 * application's own. */
static const struct {
    int64_t xid;
    const char *text;
    bool warning; /* the GPU stays in service */
} xids[] = {
    {48, "double-bit ECC error", false},
    {63, "a memory row is being remapped", true},
    {64, "remapping a memory row failed", false},
    {74, "NVLink error", false},
    {79, "the GPU has fallen off the bus", false},
    {92, "many single-bit ECC errors", true},
    {94, "contained memory error", true},
    {95, "uncontained memory error", false},
    {119, "GPU System Processor timed out", false},
    {120, "GPU System Processor error", false},
    {140, "unrecovered ECC error", false},
};

static void read_xid(struct gpus *g, yyjson_val *e) {
    int64_t xid = json_i64_at(e, "xid", 0);
    struct card *c = gpus_card(g, json_str_at(e, "gpu"));
    char text[256];

    for (size_t i = 0; i < sizeof(xids) / sizeof(xids[0]); i++) {
        if (xids[i].xid != xid || c == NULL) {
            continue;
        }
        snprintf(text, sizeof(text), "GPU %d (%s): Xid %lld: %s", c->index, c->uuid, (long long)xid,
                 xids[i].text);
        g->o.note(g->o.ctx, true, "GpuXid", text);
        if (!xids[i].warning) {
            char what[96];
            snprintf(what, sizeof(what), "Xid %lld: %s", (long long)xid, xids[i].text);
            gpus_out_add(g, c, what);
            tell_holders(g, c, text);
            gpus_tell(g);
        }
    }
}

void gpus_read_out(struct gpus *g) {
    char text[256];

    for (size_t i = 0; i < g->n; i++) {
        const struct card *c = &g->card[i];
        if (c->xid) {
            snprintf(text, sizeof(text), "GPU %d (%s): %s", c->index, c->uuid, c->trouble);
            tell_holders(g, c, text);
        }
    }
}

void gpus_read_absence(struct gpus *g, const char *why) {
    for (size_t i = 0; i < g->n; i++) {
        set_lost(g, &g->card[i], why);
    }
}

void gpus_read_scan(struct gpus *g, yyjson_val *answer) {
    g->rescan = false;
    copy_text(answer, "driver", g->driver, sizeof(g->driver));
    g->cuda_major = known(answer, "cudaMajor");
    g->cuda_minor = known(answer, "cudaMinor");
    read_gpus(g, answer, true);
}

void gpus_read_poll(struct gpus *g, yyjson_val *answer) {
    yyjson_arr_iter it;
    yyjson_val *e;

    yyjson_arr_iter_init(json_get(answer, STR("xids")), &it);
    while ((e = yyjson_arr_iter_next(&it))) {
        read_xid(g, e);
    }
    read_gpus(g, answer, false);
}
