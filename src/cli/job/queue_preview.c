/* queue_preview: `berth queue preview -f FILE`: what an edit of queues and quotas would do; nothing is written. */
#include <errno.h>
#include <unistd.h>

#include "base/limits.h"
#include "cli/job/queue_private.h"
#include "cli/kit/table.h"
#include "kube/file.h"
#include "wire/yaml.h"

/* ---- the edit ---- */

static int read_stdin(struct cli *c, struct str *ret) {
    struct buf b;
    ssize_t n = 1;
    buf_init(&b, LIMIT_BODY_BYTES);
    while (n > 0) {
        char *room = buf_room(&b, 65536);
        n = room != NULL ? read(STDIN_FILENO, room, 65536) : -1;
        b.n += n > 0 ? (size_t)n : 0;
    }
    int r = buf_ok(&b) != 0 ? err_set(&c->err, ERR_TOO_LARGE, "standard input is too large")
            : n < 0         ? err_sys(&c->err, errno, "standard input")
                            : 0;
    *ret = arena_str(&c->arena, buf_view(&b));
    buf_release(&b);
    return r;
}

/* One manifest, the at-th document of its file; a List is its items. LocalQueues without a namespace are the
 * project's. */
static int add_object(struct cli *c, yyjson_mut_doc *d, yyjson_mut_val *v, size_t at,
                      struct buf *out) {
    yyjson_mut_val *items = json_mget(v, STR("items")), *item, *meta;
    size_t i, n;
    if (json_mstr_at(v, "kind").n == 0) {
        return err_set(&c->err, ERR_INVALID, "document %zu: expected an object with a kind",
                       at + 1);
    }
    if (str_ends(json_mstr_at(v, "kind"), STR("List")) && items != NULL) {
        int r = 0;
        yyjson_mut_arr_foreach(items, i, n, item) {
            if (r == 0) {
                r = add_object(c, d, item, at, out);
            }
        }
        return r;
    }
    meta = json_mget(v, STR("metadata"));
    if (str_is(json_mstr_at(v, "kind"), "LocalQueue") && meta != NULL &&
        json_mstr_at(meta, "namespace").n == 0) {
        (void)json_mset_str(d, meta, "namespace", c->project);
    }
    buf_c(out, out->n > 0 ? "," : "");
    json_write_mut(out, v);
    return 0;
}

static int add_file(struct cli *c, const char *file, struct buf *out) {
    struct yaml_docs docs;
    struct str text;
    int r = strcmp(file, "-") == 0
                ? read_stdin(c, &text)
                : kube_file_read(&c->arena, file, LIMIT_BODY_BYTES, &text, &c->err);
    if (r != 0) {
        return r; /* it names the file */
    }
    size_t before = out->n;
    r = yaml_parse(&c->arena, text, &docs, &c->err);
    for (size_t i = 0; r == 0 && i < docs.n; i++) {
        r = add_object(c, docs.v[i], yyjson_mut_doc_get_root(docs.v[i]), i, out);
    }
    if (r == 0 && out->n == before && buf_ok(out) == 0) {
        r = err_set(&c->err, ERR_INVALID, "there is no object in it");
    }
    return r ? err_wrap(&c->err, "%s", strcmp(file, "-") == 0 ? "standard input" : file) : 0;
}

/* KIND/NAME, the kind in any of its names. */
static int add_deletion(struct cli *c, const char *text, struct buf *out) {
    static const struct {
        const char *kind, *names;
    } kinds[] = {
        {"ClusterQueue", " clusterqueue clusterqueues cq "},
        {"Cohort", " cohort cohorts co "},
        {"ResourceFlavor", " resourceflavor resourceflavors rf flavor flavors "},
        {"LocalQueue", " localqueue localqueues lq queue queues "},
    };
    struct str kind, name;
    if (!str_cut(str_of(text), '/', &kind, &name) || name.n == 0) {
        return err_set(&c->err, ERR_BAD_REQUEST, "--delete: expected KIND/NAME, not \"%s\"", text);
    }
    struct str word = arena_f(&c->arena, " %.*s ", STR_ARG(kind));
    for (char *p = (char *)(uintptr_t)word.p; p != NULL && *p != 0; p++) {
        *p = *p >= 'A' && *p <= 'Z' ? (char)(*p - 'A' + 'a') : *p;
    }
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        if (str_contains(str_of(kinds[i].names), word)) {
            buf_f(out, "%s{\"kind\":\"%s\",\"name\":", out->n > 0 ? "," : "", kinds[i].kind);
            buf_json(out, name);
            if (i == 3) {
                buf_c(out, ",\"namespace\":");
                buf_json(out, c->project);
            }
            buf_ch(out, '}');
            return 0;
        }
    }
    return err_set(&c->err, ERR_BAD_REQUEST,
                   "--delete: expected clusterqueue, cohort, resourceflavor or localqueue, not "
                   "\"%.*s\"",
                   STR_ARG(kind));
}

static int read_edit(struct cli *c, struct buf *body) {
    struct buf objects, deletions;
    const char *v;
    int r = 0;
    buf_init(&objects, LIMIT_BODY_BYTES);
    buf_init(&deletions, LIMIT_BODY_BYTES);
    for (size_t i = 0; r == 0 && (v = cli_nth(&c->args, "filename", i)) != NULL; i++) {
        r = add_file(c, v, &objects);
    }
    for (size_t i = 0; r == 0 && (v = cli_nth(&c->args, "delete", i)) != NULL; i++) {
        r = add_deletion(c, v, &deletions);
    }
    if (r == 0 && objects.n + deletions.n == 0) {
        r = err_set(&c->err, ERR_BAD_REQUEST, "preview: expected -f FILE or --delete KIND/NAME");
    }
    buf_f(body,
          "{\"apiVersion\":\"" BERTH_API "\",\"kind\":\"QueuePreview\",\"spec\":{\"objects\":["
          "%.*s],\"deletions\":[%.*s]}}",
          STR_ARG(buf_view(&objects)), STR_ARG(buf_view(&deletions)));
    if (r == 0 && (buf_ok(&objects) != 0 || buf_ok(&deletions) != 0 || buf_ok(body) != 0)) {
        r = err_set(&c->err, ERR_TOO_LARGE, "preview: all of it is larger than %d bytes",
                    LIMIT_BODY_BYTES);
    }
    buf_release(&objects);
    buf_release(&deletions);
    return r;
}

/* ---- the answer ---- */

static void add_rows(struct cli *c, struct table *t, yyjson_val *list, const char *effect,
                     enum table_style style) {
    yyjson_val *w;
    size_t i, n;
    yyjson_arr_foreach(list, i, n, w) {
        struct str name = json_str_at(w, "name"), cq = json_str_at(w, "clusterQueue");
        table_row(t);
        table_set(t, 0, style, str_of(effect));
        table_set(t, 1, STYLE_PLAIN, json_str_at(w, "namespace"));
        table_set(t, 2, STYLE_PLAIN, name.n ? name : STR("(another team's)"));
        table_set(t, 3, STYLE_PLAIN, cq);
        table_set(t, 4, STYLE_PLAIN,
                  arena_f(&c->arena, "%lld", (long long)json_i64_at(w, "priority", 0)));
        table_set(t, 5, STYLE_PLAIN, json_str_at(w, "reason"));
    }
}

static void print_table(struct cli *c, yyjson_val *v) {
    static const char *const headers[] = {"WOULD BE",      "PROJECT",  "WORKLOAD",
                                          "CLUSTER QUEUE", "PRIORITY", "REASON"};
    struct table t;
    struct buf b;
    yyjson_val *suggestions = json_path(v, "status.suggestions"), *one;
    yyjson_val *notes = json_path(v, "status.notes"), *note;
    size_t i, n;
    table_init(&t, &c->arena, headers, 6);
    add_rows(c, &t, json_path(v, "status.admitted"), "admitted", STYLE_GOOD);
    add_rows(c, &t, json_path(v, "status.evicted"), "evicted", STYLE_BAD);
    add_rows(c, &t, json_path(v, "status.waiting"), "waiting", STYLE_WAIT);
    buf_init(&b, 0);
    if (t.n_rows > 0) {
        table_write(&t, c->colour, c->format == FORMAT_WIDE ? 0 : c->columns, &b);
        cli_out(&b);
    }
    buf_release(&b);
    fprintf(stderr, "%lld would be admitted, %lld evicted, %lld wait; nothing was written\n",
            (long long)json_i64_at(v, "status.admittedCount", 0),
            (long long)json_i64_at(v, "status.evictedCount", 0),
            (long long)json_i64_at(v, "status.waitingCount", 0));
    yyjson_arr_foreach(suggestions, i, n, one) {
        struct str text = arena_str(&c->arena, json_str_at(one, "message"));
        cli_clean((char *)(uintptr_t)text.p);
        fprintf(stderr,
                "suggestion: %.*s: then it borrows no more for what waits, and takes back what is "
                "its own\n",
                STR_ARG(text));
    }
    yyjson_arr_foreach(notes, i, n, note) {
        struct str text = arena_str(&c->arena, json_str(note));
        cli_clean((char *)(uintptr_t)text.p);
        fprintf(stderr, "note: %.*s\n", STR_ARG(text));
    }
}

int queue_preview(struct cli *c) {
    struct str none = {0};
    yyjson_val *v;
    struct buf body;
    if (c->args.n_args > 1) {
        return cli_usage(c, "unexpected argument \"%s\" (files come after -f)", c->args.args[1]);
    }
    buf_init(&body, LIMIT_BODY_BYTES);
    int r = read_edit(c, &body);
    if (r == ERR_BAD_REQUEST) {
        struct err e = c->err;
        buf_release(&body);
        return cli_usage(c, "%s", e.text);
    }
    r = r ? r
          : cli_request(c, "POST", cli_path(c, BERTH_API, "queuepreviews", none, none, NULL),
                        buf_view(&body), &v);
    buf_release(&body);
    if (r != 0) {
        return cli_fail(c, NULL);
    }
    if (!cli_print(c, v)) {
        print_table(c, v);
    }
    return CLI_OK;
}
