/* json_merge: see json_merge.h. */
#include "wire/json/json_merge.h"

bool json_same(yyjson_val *a, yyjson_mut_val *b) {
    size_t i, n;
    yyjson_mut_val *key, *v;
    if (yyjson_is_obj(a) && yyjson_mut_is_obj(b)) {
        bool same = yyjson_obj_size(a) == yyjson_mut_obj_size(b);
        yyjson_obj_iter it = yyjson_obj_iter_with(a); /* it looks on from the last member found */
        yyjson_mut_obj_foreach(b, i, n, key, v) {
            struct str name = json_mstr(key);
            yyjson_val *other = same ? yyjson_obj_iter_getn(&it, name.p, name.n) : NULL;
            same = same && other && json_same(other, v);
        }
        return same;
    }
    if (yyjson_is_arr(a) && yyjson_mut_is_arr(b)) {
        bool same = yyjson_arr_size(a) == yyjson_mut_arr_size(b);
        yyjson_val *other = yyjson_arr_get_first(a);
        yyjson_mut_arr_foreach(b, i, n, v) {
            same = same && json_same(other, v);
            other = same ? unsafe_yyjson_get_next(other) : other;
        }
        return same;
    }
    if (yyjson_is_str(a) && yyjson_mut_is_str(b)) {
        return str_eq(json_str(a), json_mstr(b));
    }
    if (yyjson_is_num(a) && yyjson_mut_is_num(b)) {
        return yyjson_get_num(a) == yyjson_mut_get_num(b);
    }
    return yyjson_get_tag(a) == yyjson_mut_get_tag(b);
}

static void write_key(struct str key, bool *some, struct buf *out) {
    if (*some) {
        buf_ch(out, ',');
    }
    *some = true;
    buf_json(out, key);
    buf_ch(out, ':');
}

static void write_member(yyjson_val *was, yyjson_mut_val *now, struct buf *out) {
    bool some = false;
    if (yyjson_is_obj(was) && yyjson_mut_is_obj(now)) {
        buf_ch(out, '{');
        (void)json_merge_members(was, now, NULL, &some, out);
        buf_ch(out, '}');
    } else {
        json_write_mut(out, now);
    }
}

bool json_merge_members(yyjson_val *from, yyjson_mut_val *to, const char *but, bool *some,
                        struct buf *out) {
    size_t i, n, at = out->n;
    yyjson_mut_val *mkey, *now;
    yyjson_val *key, *v;
    if (yyjson_mut_is_obj(to)) {
        yyjson_mut_obj_foreach(to, i, n, mkey, now) {
            yyjson_val *was = json_get(from, json_mstr(mkey));
            if ((but == NULL || !str_is(json_mstr(mkey), but)) && !(was && json_same(was, now))) {
                write_key(json_mstr(mkey), some, out);
                write_member(was, now, out);
            }
        }
    }
    if (yyjson_is_obj(from)) {
        yyjson_obj_foreach(from, i, n, key, v) {
            if ((but == NULL || !str_is(json_str(key), but)) &&
                json_mget(to, json_str(key)) == NULL) {
                write_key(json_str(key), some, out);
                buf_c(out, "null");
            }
        }
    }
    return out->n != at;
}
