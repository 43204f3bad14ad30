/*
 * submit_check: what would wait for ever is told before it is submitted: a project or a queue that does not exist, a
 * slice that no node has. Whoever may not look at these things submits unchecked.
 */
#include "cli/job/submit_check.h"

#include "cli/job/job_spec.h"
#include "wire/text/quantity.h"

enum { NAMES_MAX_BYTES = 300 };

#define MIG_PREFIX "nvidia.com/mig-"

/* "a, b, c", shortened. */
static struct str names_of(struct cli *c, yyjson_val *list) {
    yyjson_val *items = json_get(list, STR("items")), *item;
    struct buf b;
    size_t i, n;
    buf_init(&b, 0);
    yyjson_arr_foreach(items, i, n, item) {
        buf_f(&b, "%s%.*s", i ? ", " : "", STR_ARG(json_str_at(item, "metadata.name")));
        if (b.n > NAMES_MAX_BYTES) {
            buf_c(&b, ", ...");
            break;
        }
    }
    struct str s = arena_str(&c->arena, buf_view(&b));
    buf_release(&b);
    return s;
}

static int check_project(struct cli *c) {
    struct str none = {0};
    if (cli_get(c, cli_path(c, "v1", "namespaces", none, c->project, NULL), NULL) !=
        ERR_NOT_FOUND) {
        return 0;
    }
    return err_set(&c->err, ERR_NOT_FOUND,
                   "there is no project \"%.*s\"; `kubectl create namespace %.*s` makes one, and a "
                   "LocalQueue in it leads to a ClusterQueue",
                   STR_ARG(c->project), STR_ARG(c->project));
}

static int check_queue(struct cli *c) {
    const char *given = cli_value(&c->args, "queue"), *name = given ? given : "default";
    const char *api = "kueue.x-k8s.io/v1beta2";
    yyjson_val *list = NULL;
    if (cli_get(c, cli_path(c, api, "localqueues", c->project, str_of(name), NULL), NULL) !=
        ERR_NOT_FOUND) {
        return 0;
    }
    struct str path = cli_path(c, api, "localqueues", c->project, (struct str){0}, NULL);
    if (cli_get(c, path, &list) != 0) {
        return 0;
    }
    struct str names = names_of(c, list);
    if (names.n == 0) {
        return err_set(&c->err, ERR_NOT_FOUND,
                       "project \"%.*s\" has no queue: its administrator makes a LocalQueue in it",
                       STR_ARG(c->project));
    }
    return err_set(&c->err, ERR_NOT_FOUND,
                   "project \"%.*s\" has no queue \"%s\"; with --queue choose one of: %.*s",
                   STR_ARG(c->project), name, STR_ARG(names));
}

/* Adds the profiles of a node that are not in *out yet. */
static bool add_profiles(yyjson_val *node, struct str wanted, struct buf *out) {
    yyjson_val *amounts = json_path(node, "status.allocatable"), *k, *v;
    bool found = false;
    size_t i, n;
    yyjson_obj_foreach(amounts, i, n, k, v) {
        struct str name = json_str(k);
        if (!str_starts(name, STR(MIG_PREFIX))) {
            continue;
        }
        name = str_skip(name, sizeof(MIG_PREFIX) - 1);
        found = found || str_eq(name, wanted);
        char word[128];
        snprintf(word, sizeof(word), " %.*s,", STR_ARG(name));
        if (!str_contains(buf_view(out), str_of(word))) {
            buf_c(out, word);
        }
    }
    return found;
}

static int check_slice(struct cli *c) {
    const char *slice = cli_value(&c->args, "slice");
    struct str none = {0}, wanted;
    yyjson_val *list, *node;
    size_t i, n;
    bool found = false;
    if (slice == NULL || cli_get(c, cli_path(c, "v1", "nodes", none, none, NULL), &list) != 0) {
        return 0;
    }
    yyjson_val *items = json_get(list, STR("items"));
    char resource[SLICE_TEXT_MAX];
    wanted = job_spec_slice(str_of(slice), resource)
                 ? str_skip(str_of(resource), sizeof(MIG_PREFIX) - 1)
                 : none;
    struct buf has;
    buf_init(&has, 0);
    yyjson_arr_foreach(items, i, n, node) {
        found = add_profiles(node, wanted, &has) || found;
    }
    int r = 0;
    struct str profiles = str_head(buf_view(&has), has.n ? has.n - 1 : 0);
    if (!found && yyjson_arr_size(items) > 0) {
        r = err_set(&c->err, ERR_NOT_FOUND, "--slice: no GPU here has %s; there %s%.*s", slice,
                    profiles.n ? "are" : "are no slices at all", STR_ARG(profiles));
    }
    buf_release(&has);
    return r;
}

/* ---- more than any node has ---- */

static int check_amount(struct cli *c, yyjson_val *nodes, const char *option,
                        const char *resource) {
    const char *given = cli_value(&c->args, option);
    char text[32];
    struct quantity want, has, most = {0};
    yyjson_val *node;
    size_t i, n;
    bool any = false;
    if (given == NULL || !job_spec_memory(str_of(given), text) ||
        quantity_parse(str_of(text), &want, NULL) != 0) {
        return 0;
    }
    yyjson_arr_foreach(nodes, i, n, node) {
        struct str there =
            json_str(json_get(json_path(node, "status.allocatable"), str_of(resource)));
        if (there.n && quantity_parse(there, &has, NULL) == 0) {
            most = !any || quantity_cmp(has, most) > 0 ? has : most;
            any = true;
        }
    }
    if (any ? quantity_cmp(want, most) <= 0 : quantity_milli(want) == 0 || i == 0) {
        return 0;
    }
    char there[QUANTITY_TEXT_MAX];
    struct str told = any ? quantity_text(most, there) : STR("none");
    return err_set(&c->err, ERR_NOT_FOUND, "--%s: no node has %s; the most on one is %.*s", option,
                   given, STR_ARG(told));
}

/* A pod runs on one node: what none has would wait for ever. */
static int check_amounts(struct cli *c) {
    static const char *const rows[][2] = {
        {"gpus", "nvidia.com/gpu"}, {"cpu", "cpu"}, {"memory", "memory"}};
    struct str none = {0};
    yyjson_val *list;
    bool asked = false;
    int r = 0;
    for (size_t i = 0; i < 3; i++) {
        asked = asked || cli_value(&c->args, rows[i][0]);
    }
    if (!asked || cli_get(c, cli_path(c, "v1", "nodes", none, none, NULL), &list) != 0 ||
        yyjson_arr_size(json_get(list, STR("items"))) == 0) {
        return 0;
    }
    for (size_t i = 0; i < 3 && r == 0; i++) {
        r = check_amount(c, json_get(list, STR("items")), rows[i][0], rows[i][1]);
    }
    return r;
}

int submit_check(struct cli *c) {
    int r = check_project(c);
    r = r ? r : check_queue(c);
    r = r ? r : check_slice(c);
    return r ? r : check_amounts(c);
}
