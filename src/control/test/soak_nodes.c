/* soak_nodes: see soak_nodes.h. */
#include "control/test/soak_nodes.h"

#include "base/test.h"
#include "wire/text/time.h"

static int below(struct soak *s, int n) {
    return (int)prng_below(&s->r, (uint64_t)n);
}

/* ---- nodes ---- */

static void instances(struct soak *s, int node, int gpu, struct gpu_card *c,
                      struct gpu_instance *v) {
    c->instances = v;
    for (int i = 0; i < s->n_pods; i++) {
        const struct soak_pod *p = &s->pods[i];
        for (int k = 0; p->running && p->node == node && k < p->devices; k++) {
            const struct soak_device *d = &p->dev[k];
            if (d->gpu == gpu && d->profile < 0) {
                c->pod_uid = str_of(p->uid);
            } else if (d->gpu == gpu) {
                const struct gpu_profile *f = &soak_profiles[d->profile];
                v[c->n_instances++] = (struct gpu_instance){f->id,        d->start,       f->size,
                                                            STR("MIG-1"), str_of(p->uid), -1};
            }
        }
    }
}

void soak_node_write(struct soak *s, int node) {
    struct gpu_card cards[SOAK_GPUS];
    struct gpu_instance live[SOAK_GPUS][INVENTORY_INSTANCES_MAX];
    struct buf gpus, json;
    char uuid[SOAK_GPUS][16], name[3] = {'n', (char)('0' + node), 0};
    struct inventory inv = {cards, SOAK_GPUS, true};
    for (int g = 0; g < SOAK_GPUS; g++) {
        snprintf(uuid[g], sizeof uuid[g], "GPU-%d-%d", node % 10, g % 10);
        cards[g] = (struct gpu_card){.uuid = str_of(uuid[g]),
                                     .model = STR("NVIDIA H200"),
                                     .index = g,
                                     .slices = 8,
                                     .board = STR("0x233510DE"),
                                     .memory_mib = 143771,
                                     .healthy = s->up[node][g],
                                     .mig_enabled = true,
                                     .mig_managed = true,
                                     .profiles = (struct gpu_profile *)soak_profiles,
                                     .n_profiles = SOAK_PROFILES};
        instances(s, node, g, &cards[g], live[g]);
    }
    buf_init(&gpus, 0);
    buf_init(&json, 0);
    inventory_encode(&inv, &gpus);
    buf_f(
        &json,
        "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"%s\",\"labels\":"
        "{\"berth.dev/managed\":\"true\",\"pool\":\"%s\"},\"annotations\":{\"" INVENTORY_ANNOTATION
        "\":",
        name, node == 1 ? "b" : "a");
    buf_json(&json, buf_view(&gpus));
    buf_c(&json, "}},\"spec\":{}}");
    if (s->there[node]) {
        fake_world_patch(&s->w, "Node", "", name, "", buf_cstr(&json));
    } else {
        fake_world_put(&s->w, buf_cstr(&json));
    }
    s->there[node] = true;
    char at[TIME_TEXT_MAX], status[512];
    struct str now = time_text(clock_wall(&s->w.clock.clock), at);
    snprintf(status, sizeof status,
             "{\"status\":{\"allocatable\":{\"cpu\":\"8\",\"memory\":\"16Gi\"},\"conditions\":[{"
             "\"type\":\"Ready\",\"status\":\"%s\",\"lastHeartbeatTime\":\"%.*s\"}]}}",
             s->ready[node] ? "True" : "False", STR_ARG(now));
    fake_world_patch(&s->w, "Node", "", name, "status", status);
    buf_release(&gpus);
    buf_release(&json);
}

void soak_gpu_set(struct soak *s, int node, int gpu, bool up) {
    s->up[node][gpu] = up;
    if (!up) {
        soak_gpu_lost(s, node, gpu);
    }
}

void soak_nodes_start(struct soak *s) {
    for (int n = 0; n < SOAK_NODES; n++) {
        s->ready[n] = true;
        for (int g = 0; g < SOAK_GPUS; g++) {
            s->up[n][g] = true;
        }
        if (below(s, 3) || n == 0) {
            soak_node_write(s, n);
        }
    }
}

void soak_node_break(struct soak *s) {
    int node = below(s, SOAK_NODES), what = below(s, 4);
    char name[3] = {'n', (char)('0' + node), 0};
    for (int g = 0; g < SOAK_GPUS; g++) { /* what is planned there may be planned elsewhere */
        soak_gpu_set(s, node, g, s->there[node] && s->up[node][g] && what == 3);
    }
    if (s->there[node] && what == 0) {
        fake_world_delete(&s->w, "Node", "", name, "");
        s->there[node] = false;
        return;
    }
    s->ready[node] = what != 1;
    s->away[node] = what == 1;
    soak_gpu_set(s, node, 0, what != 2);
    soak_gpu_set(s, node, 1, what == 3);
    soak_node_write(s, node);
}

/* ---- a node's hands ---- */

static void pod_end(struct soak *s, const char *ns, const char *name, int code) {
    char body[512];
    snprintf(body, sizeof body,
             "{\"status\":{\"phase\":\"%s\",\"containerStatuses\":[{\"name\":\"c\",\"state\":{"
             "\"terminated\":{\"exitCode\":%d}}}]}}",
             code == 0 ? "Succeeded" : "Failed", code);
    fake_world_patch(&s->w, "Pod", ns, name, "status", body);
}

static void pod_step(struct soak *s, const struct soak_pod *pod) {
    struct soak_pod p = *pod;
    if (p.deleting) {
        if (!p.over) {
            pod_end(s, p.ns, p.name, 143);
        }
        struct err err = {0};
        const struct object *o;
        struct delete_options now = {.grace_seconds = 0};
        if (p.grace > 0 && fake_world_get(&s->w, "Pod", p.ns, p.name)) {
            assert_ok(fake_store_remove(&s->w, fake_world_kind("Pod"), str_of(p.ns), str_of(p.name),
                                        &now, &o, &err),
                      &err);
            object_unref(o);
        }
    } else if (!p.over && !p.running) {
        fake_world_patch(&s->w, "Pod", p.ns, p.name, "status",
                         "{\"status\":{\"phase\":\"Running\",\"conditions\":[{\"type\":\"Ready\","
                         "\"status\":\"True\"}]}}");
    } else if (!p.over && s->ends && (s->calm || below(s, 4) == 0)) {
        pod_end(s, p.ns, p.name, !s->calm && below(s, 12) == 0 ? 1 : 0);
    }
}

void soak_hands(struct soak *s) {
    for (int i = s->n_pods - 1; i >= 0; i--) {
        if (i < s->n_pods && s->pods[i].node >= 0 && s->there[s->pods[i].node] &&
            s->ready[s->pods[i].node]) {
            pod_step(s, &s->pods[i]);
        }
    }
    int64_t now = s->w.clock.now / NS_PER_SEC;
    for (int n = 0; n < SOAK_NODES; n++) {
        if (s->there[n] && (now % 10 == n || (!s->calm && below(s, 6) == 0))) {
            soak_node_write(s, n);
        }
    }
}
