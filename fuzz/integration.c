/* fuzz/integration: objects of other projects, read and changed by the paths of each row of the table. */
#include "control/load/integration.h"
#include "api/kinds/kinds_foreign.h"
#include "control/load/job_workload.h"
#include "fuzz.h"

static void change(const struct job_look *l) {
    struct podset_info *infos = arena_zalloc(l->arena, (l->n_parts + 1) * sizeof *infos);
    struct buf b;
    struct err err;
    buf_init(&b, 1 << 20);
    for (size_t i = 0; infos && i < l->n_parts; i++) {
        if (podset_info_init(&infos[i], l->arena) != 0 ||
            json_mset_str(infos[i].doc, infos[i].selector, "a", STR("b")) != 0) {
            infos = NULL;
        } else {
            infos[i].name = l->parts[i].name;
            infos[i].count = 1;
        }
    }
    if (infos) {
        (void)job_look_start(l, infos, l->n_parts, &b, &err);
    }
    b.n = 0;
    (void)job_look_stop(l, json_path(l->tree, "was"), &b);
    (void)job_look_injected(l, json_path(l->tree, "was"));
    struct pod_set_draft_list sets;
    (void)job_workload_pod_sets(l, &sets);
    buf_release(&b);
}

static void look(const struct integration *row, const struct object *o) {
    struct arena a;
    struct job_end end;
    struct err err;
    arena_init(&a, 16 << 20);
    struct job_look l = {.row = row, .obj = o, .settings = queue_settings_defaults(), .arena = &a};
    if (row->suspend && !str_is(str_of(row->is->kind), "TrainJob") &&
        job_look_init(&l, &err) == 0) {
        (void)job_look_suspended(&l);
        (void)job_look_active(&l);
        (void)job_look_finished(&l, &end);
        (void)job_look_priority_class(&l);
        if (l.n_parts > 0) {
            (void)job_look_ready(&l);
            for (size_t i = 0; i < l.n_parts; i++) {
                (void)job_look_reclaimable(&l, i);
            }
            change(&l);
        }
    }
    arena_release(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    size_t n, n_foreign;
    struct object *o;
    const struct integration *rows = integration_rows(&n);
    if (object_new(kinds_foreign(&n_foreign), str_from((const char *)data, size), &o, NULL) != 0) {
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        look(&rows[i], o);
    }
    object_unref(o);
    return 0;
}
