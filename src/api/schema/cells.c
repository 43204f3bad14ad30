/* cells: the cells of a table row, and ages as kubectl writes them. */
#include "api/schema/cells.h"
#include "api/schema/codec.h"
#include "api/schema/crd_path.h"
#include "wire/text/time.h"

/* "5m30s": the big unit, and the small one unless it is 0. */
static void two_units(struct buf *out, int64_t big, const char *big_unit, int64_t small,
                      const char *small_unit) {
    buf_i64(out, big);
    buf_c(out, big_unit);
    if (small > 0) {
        buf_i64(out, small);
        buf_c(out, small_unit);
    }
}

void codec_age(int64_t then_ns, int64_t now_ns, struct buf *out) {
    enum { MIN = 60, HOUR = 3600, DAY = 86400, YEAR = 365 * 86400 };
    int64_t ns = now_ns - then_ns, s = ns / INT64_C(1000000000);
    if (s < -1) {
        buf_c(out, "<invalid>");
    } else if (s < 0) {
        buf_c(out, "0s");
    } else if (s < 2 * MIN) {
        two_units(out, s, "s", 0, "");
    } else if (s < 10 * MIN) {
        two_units(out, s / MIN, "m", s % MIN, "s");
    } else if (s < 3 * HOUR) {
        two_units(out, s / MIN, "m", 0, "");
    } else if (s < 8 * HOUR) {
        two_units(out, s / HOUR, "h", s % HOUR / MIN, "m");
    } else if (s < 2 * DAY) {
        two_units(out, s / HOUR, "h", 0, "");
    } else if (s < 8 * DAY) {
        two_units(out, s / DAY, "d", s % DAY / HOUR, "h");
    } else if (s < 2 * YEAR) {
        two_units(out, s / DAY, "d", 0, "");
    } else if (s < 8 * (int64_t)YEAR) {
        two_units(out, s / YEAR, "y", s % YEAR / DAY, "d");
    } else {
        two_units(out, s / YEAR, "y", 0, "");
    }
}

void cell_str(struct buf *out, struct str s) {
    buf_json(out, s.n ? s : STR("<none>"));
}

void cell_f(struct buf *out, const char *fmt, ...) {
    struct buf b;
    va_list ap;
    buf_init(&b, 0);
    va_start(ap, fmt);
    buf_vf(&b, fmt, ap);
    va_end(ap);
    buf_json(out, buf_view(&b));
    buf_release(&b);
}

void cell_age(struct buf *out, struct str time, int64_t now) {
    int64_t then;
    if (time.n == 0 || time_parse(time, &then, NULL) < 0) {
        buf_c(out, "\"<unknown>\"");
        return;
    }
    buf_ch(out, '"');
    codec_age(then, now, out);
    buf_ch(out, '"');
}

struct str condition_status(yyjson_val *obj, const char *type) {
    yyjson_arr_iter it = yyjson_arr_iter_with(json_path(obj, "status.conditions"));
    yyjson_val *c;
    while ((c = yyjson_arr_iter_next(&it)) != NULL) {
        if (str_is(json_str_at(c, "type"), type)) {
            return json_str_at(c, "status");
        }
    }
    return (struct str){0};
}

void cell_containers(struct buf *out, yyjson_val *spec, const char *member) {
    struct buf b;
    buf_init(&b, 0);
    yyjson_arr_iter it = yyjson_arr_iter_with(json_path(spec, "containers"));
    yyjson_val *c;
    while ((c = yyjson_arr_iter_next(&it)) != NULL) {
        buf_c(&b, b.n ? "," : "");
        buf_str(&b, json_str_at(c, member));
    }
    cell_str(out, buf_view(&b));
    buf_release(&b);
}

void cell_labels(struct buf *out, yyjson_val *map) {
    struct buf b;
    buf_init(&b, 0);
    yyjson_obj_iter it = yyjson_obj_iter_with(map);
    yyjson_val *k;
    while ((k = yyjson_obj_iter_next(&it)) != NULL) {
        buf_c(&b, b.n ? "," : "");
        buf_str(&b, json_str(k));
        buf_ch(&b, '=');
        buf_str(&b, json_str(yyjson_obj_iter_get_val(k)));
    }
    cell_str(out, buf_view(&b));
    buf_release(&b);
}

static void path_cell(const struct column *col, yyjson_val *obj, int64_t now, struct buf *out) {
    yyjson_val *v = json_path(obj, col->path);
    bool created = strcmp(col->path, "metadata.creationTimestamp") == 0;
    if (created && strcmp(col->name, "Created At") != 0) {
        cell_age(out, json_str(v), now);
    } else if (v != NULL) {
        json_write(out, v);
    } else {
        buf_c(out, "null");
    }
}

const struct column *codec_columns(const struct kind *k, const struct kind_version *kv,
                                   size_t *ret_n) {
    bool own = kv != NULL && kv->columns != NULL;
    *ret_n = own ? kv->n_columns : k->n_columns;
    return own ? kv->columns : k->columns;
}

void codec_cells(const struct kind *k, const struct kind_version *kv, yyjson_val *obj, int64_t now,
                 struct buf *out) {
    size_t n;
    const struct column *columns = codec_columns(k, kv, &n);
    buf_ch(out, '[');
    for (size_t i = 0; i < n; i++) {
        buf_c(out, i ? "," : "");
        if (columns[i].json_path != NULL) {
            crd_cell(&columns[i], obj, now, out);
        } else if (columns[i].path != NULL) {
            path_cell(&columns[i], obj, now, out);
        } else if (k->cell != NULL) {
            k->cell(obj, i, now, out);
        } else {
            buf_c(out, "null");
        }
    }
    buf_ch(out, ']');
}
