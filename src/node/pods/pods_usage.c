/*
 * pods_usage: what running pods take, looked at every ten seconds, and told in node/usage.json, from where the API
 * server answers `kubectl top` (node/usage/usage_serve.h). A pod that is new is looked at twice within three seconds.
 */
#include "base/mem.h"
#include "node/pods/pods_private.h"
#include "node/sandbox/shim.h"
#include "node/usage/usage.h"

enum { EVERY_S = 10, FIRST_S = 2, A_TICK = 100, FILE_BYTES = FILE_READ_MAX };

struct usage_one {
    char name[64];
    pid_t pid;
    int64_t cpu_ns, memory, rate; /* rate: billionths of a processor */
};

struct pod_usage {
    int64_t mono, wall, window; /* window 0: looked at once alone */
    size_t n;
    struct usage_one v[SHIM_CONTAINERS_MAX];
};

struct pods_usage {
    struct pod_usage node; /* v[0] */
    int64_t told_mono;
    size_t n;
    bool news;
};

void pods_usage_free(struct pods_usage *u) {
    mem_free(u);
}

/* ---- a look ---- */

static int64_t rate_of(int64_t was, int64_t now, int64_t window) {
    int64_t more = now >= was ? now - was : now; /* it was started anew */

    return window > 0 ? (int64_t)((double)more * 1e9 / (double)window) : 0;
}

static void put(struct pod_usage *u, size_t i, const struct usage *now, int64_t window) {
    struct usage_one *x = &u->v[i];

    x->rate = rate_of(x->cpu_ns, now->cpu_ns, window);
    x->cpu_ns = now->cpu_ns;
    x->memory = now->memory;
}

static int64_t begin_look(struct pod_usage *u, const struct pods *ps) {
    int64_t now = clock_mono(ps->clock), window = u->mono ? now - u->mono : 0;

    u->mono = now;
    u->wall = clock_wall(ps->clock);
    u->window = window;
    return window;
}

/* The containers that run, by what the shim told; the same places as before for those that were there. */
static void list_containers(struct pod_usage *u, yyjson_val *state) {
    yyjson_arr_iter it = yyjson_arr_iter_with(json_get(state, STR("containers")));
    struct pod_usage was = *u;

    u->n = 0;
    for (yyjson_val *c; (c = yyjson_arr_iter_next(&it)) && u->n < SHIM_CONTAINERS_MAX;) {
        struct usage_one *x = &u->v[u->n];
        *x = (struct usage_one){.pid = (pid_t)json_i64_at(c, "pid", 0)};
        if (x->pid == 0 || !str_copy(json_str_at(c, "name"), x->name, sizeof(x->name))) {
            continue;
        }
        for (size_t i = 0; i < was.n; i++) {
            if (!strcmp(was.v[i].name, x->name) && was.v[i].pid == x->pid) {
                x->cpu_ns = was.v[i].cpu_ns;
            }
        }
        u->n++;
    }
}

static void look(struct pod *p) {
    struct usage_container v[SHIM_CONTAINERS_MAX];
    char name[80];
    struct arena a;
    yyjson_doc *doc;

    p->usage = p->usage ? p->usage : mem_zalloc(sizeof(*p->usage));
    arena_init(&a, 4 << 20);
    if (p->usage && json_parse(&a, str_of(p->shim_state), &doc, NULL) == 0) {
        struct pod_usage *u = p->usage;
        list_containers(u, yyjson_doc_get_root(doc));
        for (size_t i = 0; i < u->n; i++) {
            v[i] = (struct usage_container){.pid = u->v[i].pid};
        }
        snprintf(name, sizeof(name), "berth/%s", p->uid);
        enum cgroup_mode mode = p->pods->o.probe->cgroup;
        int64_t window = begin_look(u, p->pods);
        u->n = usage_of_pod(mode, name, (pid_t)p->shim_pid, v, u->n) ? u->n : 0;
        for (size_t i = 0; i < u->n; i++) {
            put(u, i, &v[i].now, window);
        }
    }
    arena_release(&a);
}

static void look_at_machine(struct pods *ps) {
    struct pod_usage *u = &ps->usage->node;
    struct usage now;
    int64_t window = begin_look(u, ps);

    u->n = usage_of_machine(&now);
    if (u->n) {
        put(u, 0, &now, window);
    }
}

/* ---- the file ---- */

static void add_times(struct buf *b, const struct pod_usage *u) {
    buf_f(b, "\"at\":%lld,\"window\":%lld", (long long)u->wall, (long long)u->window);
}

static void add_amounts(struct buf *b, const struct usage_one *x) {
    buf_f(b, "\"cpu\":%lld,\"memory\":%lld", (long long)x->rate, (long long)x->memory);
}

static void add_pod(struct buf *b, const struct pod *p, bool first) {
    const struct pod_usage *u = p->usage;

    buf_f(b, "%s{\"uid\":\"%s\",", first ? "" : ",", p->uid);
    add_times(b, u);
    buf_c(b, ",\"containers\":[");
    for (size_t i = 0; i < u->n; i++) {
        buf_f(b, "%s{\"name\":\"%s\",", i ? "," : "", u->v[i].name);
        add_amounts(b, &u->v[i]);
        buf_ch(b, '}');
    }
    buf_c(b, "]}\n");
}

static bool is_told(const struct pod *p) {
    return p->usage && p->state == POD_RUNNING && p->usage->window && p->usage->n;
}

static void tell(struct pods *ps) {
    const struct pod_usage *node = &ps->usage->node;
    const struct map_entry *e;
    char dir[PATH_LEN];
    bool first = true;
    struct buf b;

    buf_init(&b, FILE_BYTES);
    buf_c(&b, "{\"node\":{\"name\":");
    buf_json(&b, str_of(ps->o.node_name));
    buf_ch(&b, ',');
    add_times(&b, node);
    buf_ch(&b, ',');
    add_amounts(&b, &node->v[0]);
    buf_c(&b, "},\n\"pods\":[");
    for (size_t i = 0; (e = map_next(&ps->by_uid, &i));) {
        if (is_told(e->value)) {
            add_pod(&b, e->value, first);
            first = false;
        }
    }
    buf_c(&b, "]}\n");
    if (buf_ok(&b) == 0 && path_join(dir, ps->o.data_dir, "node", NULL) == 0) {
        file_store(dir, "usage.json", buf_view(&b), 0600, NULL);
    }
    buf_release(&b);
}

/* ---- time ---- */

static bool is_due(const struct pod_usage *u, int64_t now, int64_t every_s) {
    int64_t wait = u && u->window ? every_s : FIRST_S;

    return u == NULL || u->mono == 0 || now - u->mono >= wait * NS_PER_SEC;
}

/* The more pods, the longer: a tick looks at no more than A_TICK. */
void pods_usage_tick(struct pods *ps, int64_t now) {
    const struct map_entry *e;
    size_t n = 0, running = 0;

    ps->usage = ps->usage ? ps->usage : mem_zalloc(sizeof(*ps->usage));
    if (ps->usage == NULL) {
        return;
    }
    struct pods_usage *all = ps->usage;
    int64_t least = (int64_t)(all->n / A_TICK) + 1, every = least > EVERY_S ? least : EVERY_S;
    for (size_t i = 0; (e = map_next(&ps->by_uid, &i));) {
        struct pod *p = e->value;
        if (p->state != POD_RUNNING || p->shim_state == NULL) {
            continue;
        }
        running++;
        if (n < A_TICK && is_due(p->usage, now, every)) {
            look(p);
            n++;
            all->news = true;
        }
    }
    if (is_due(&all->node, now, every)) {
        look_at_machine(ps);
        all->news = true;
    }
    all->news |= all->n != running;
    all->n = running;
    if (all->news && all->node.window && now - all->told_mono >= least * NS_PER_SEC) {
        all->told_mono = now;
        all->news = false;
        tell(ps);
    }
}
