/*
 * image_verb: `berth image load|list|prune`: the images of this machine.
 *
 * It works on the data folder itself, beside a node that runs or not, and through podman: who may is the user that
 * Berth runs as, whom the folder belongs to. What is loaded is for the pods of every namespace.
 */
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/cli.h"
#include "node/images/image_get.h"
#include "node/images/image_store.h"
#include "wire/text/time.h"
#include "world/kit/paths.h"
#include "world/kit/verbs.h"

#define UNUSED_DEFAULT (24 * 3600 * NS_PER_SEC)

struct image_places {
    char images[PATH_LEN], pods[PATH_LEN];
};

/* The folders, when they are ours to change. */
static int find_places(const struct cli_args *a, struct image_places *ret, struct err *err) {
    struct paths p;
    struct stat st;
    int r = paths_init(&p, cli_value(a, "data"), false, err);

    if (r == 0 && stat(p.data, &st) == -1) {
        r = err_set(err, ERR_NOT_FOUND, "%s is no data folder: berth up makes one (--data DIR)",
                    p.data);
    } else if (r == 0 && st.st_uid != geteuid()) {
        r = err_set(err, ERR_FORBIDDEN,
                    "%s belongs to user %u, who alone may load, list and remove images", p.data,
                    (unsigned)st.st_uid);
    }
    r = r ? r : path_join(ret->images, p.data, "images", err);
    return r ? r : path_join(ret->pods, p.data, "pods", err);
}

/* ---- load ---- */

static void on_loaded(void *ctx, struct str name, struct str id) {
    printf("loaded %.*s (%.*s)\n", STR_ARG(name), STR_ARG(str_head(id, 12)));
}

static int load(const struct cli_args *a, const struct image_places *p, struct err *err) {
    if (a->n_args != 2) {
        return err_set(err, ERR_BAD_REQUEST, "load takes one FILE");
    }
    if (access(a->args[1], R_OK) == -1) {
        return err_set(err, ERR_NOT_FOUND, "%s cannot be read", a->args[1]);
    }
    return image_get_load(p->images, a->args[1], on_loaded, NULL, err);
}

/* ---- list ---- */

static int64_t now_ns(void) {
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec * NS_PER_SEC + t.tv_nsec;
}

static void print_for(const struct image_entry *e) {
    yyjson_arr_iter it;
    yyjson_val *v;
    bool first = true;

    if (e->anyone || e->name.n == 0) {
        printf("everyone");
        return;
    }
    yyjson_arr_iter_init(e->namespaces, &it);
    while ((v = yyjson_arr_iter_next(&it))) {
        printf("%s%.*s", first ? "" : ",", STR_ARG(json_str(v)));
        first = false;
    }
}

static int list(const struct cli_args *a, const struct image_places *p, struct err *err) {
    struct image_entry *v;
    struct arena arena;
    size_t n;

    if (a->n_args != 1) {
        return err_set(err, ERR_BAD_REQUEST, "list takes no arguments");
    }
    arena_init(&arena, 256 << 20);
    int r = image_store_list(p->images, &arena, &v, &n, err);
    if (r == 0) {
        printf("%-50s %-12s %9s %-7s %s\n", "NAME", "ID", "MIB", "USED", "FOR");
    }
    for (size_t i = 0; r == 0 && i < n; i++) {
        bool used = image_store_used(p->pods, v[i].id);
        printf("%-50.*s %.12s %9lld %-7s ", STR_ARG(v[i].name.n ? v[i].name : STR("<none>")),
               v[i].id.p, (long long)(v[i].bytes >> 20), used ? "yes" : "no");
        print_for(&v[i]);
        printf("\n");
    }
    arena_release(&arena);
    return r;
}

/* ---- prune ---- */

static void on_pruned(void *ctx, const struct image_entry *e) {
    printf("removed %.*s (%.*s)\n", STR_ARG(e->name.n ? e->name : STR("<none>")),
           STR_ARG(str_head(e->id, 12)));
}

static int prune(const struct cli_args *a, const struct image_places *p, struct err *err) {
    const char *text = cli_value(a, "unused");
    int64_t unused = UNUSED_DEFAULT;

    if (a->n_args != 1) {
        return err_set(err, ERR_BAD_REQUEST, "prune takes no arguments");
    }
    if (text && (duration_parse(str_of(text), &unused, NULL) || unused < 0)) {
        return err_set(err, ERR_BAD_REQUEST,
                       "--unused: \"%s\": expected a duration, like 0s, 90m or 24h", text);
    }
    return image_get_prune(p->images, p->pods, now_ns() - unused, on_pruned, NULL, err);
}

static int run(const struct cli_args *a) {
    static const struct {
        const char *word;
        int (*run)(const struct cli_args *a, const struct image_places *p, struct err *err);
    } verbs[] = {{"load", load}, {"list", list}, {"prune", prune}};
    struct err err = {0};
    struct image_places p;
    int r = err_set(&err, ERR_BAD_REQUEST, "%s: expected load, list or prune", a->args[0]);

    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (strcmp(a->args[0], verbs[i].word) == 0) {
            r = find_places(a, &p, &err);
            r = r ? r : verbs[i].run(a, &p, &err);
        }
    }
    if (r) {
        fprintf(stderr, "berth image: %s\n", err.text);
    }
    return r == 0 ? CLI_OK : r == ERR_BAD_REQUEST ? CLI_USAGE : CLI_FAILED;
}

static const struct cli_option options[] = {
    {"data", 0, "DIR", "the data folder of berth up", NULL, false},
    {"unused", 0, "TIME", "prune: what no pod has asked for since then (default 24h)", NULL, false},
};

const struct cli_verb world_image = {
    .name = "image",
    .group = GROUP_MACHINE,
    .arguments = "load FILE | list | prune",
    .words = "load list prune",
    .summary = "load, list and remove images of this machine",
    .about = "Images that pods of this machine run in. load takes an archive (podman save, docker "
             "save) and\n"
             "makes its images known to all namespaces; prune removes what no pod uses. Needs "
             "podman, and\n"
             "may be done by the user that berth up runs as.",
    .examples = "  podman save -o app.tar localhost/app && berth image load app.tar\n"
                "  berth image list\n"
                "  berth image prune --unused 168h\n",
    .options = options,
    .n_options = sizeof(options) / sizeof(options[0]),
    .min_args = 1,
    .max_args = 2,
    .local = run,
};
