/*
 * walk: what every pass over an object by its tables needs: finding a field, and saying where it stands.
 *
 * A path is a chain of frames on the C stack, innermost first; it costs nothing until somebody asks for its text.
 * Internal to this room.
 */
#ifndef BERTH_API_WALK_H
#define BERTH_API_WALK_H

#include "api/tables/field.h"
#include "base/arena.h"
#include "base/buf.h"

enum path_step { PATH_MEMBER, PATH_INDEX, PATH_KEY };

struct path {
    const struct path *up; /* NULL at the root */
    enum path_step step;
    struct str name; /* PATH_MEMBER: ".name", PATH_KEY: "[name]" */
    size_t index;    /* PATH_INDEX: "[3]" */
};

static inline struct path path_member(const struct path *up, const char *name) {
    return (struct path){.up = up, .step = PATH_MEMBER, .name = str_of(name)};
}
static inline struct path path_field(const struct path *up, const struct field *f) {
    return (struct path){
        .up = up, .step = PATH_MEMBER, .name = {f->json, f->json_n ? f->json_n : strlen(f->json)}};
}
static inline struct path path_index(const struct path *up, size_t i) {
    return (struct path){.up = up, .step = PATH_INDEX, .index = i};
}
static inline struct path path_key(const struct path *up, struct str key) {
    return (struct path){.up = up, .step = PATH_KEY, .name = key};
}
void path_write(const struct path *p, struct buf *b);
/* "spec.containers[0].name" in the arena; empty when out of memory. */
struct str path_text(const struct path *p, struct arena *a);

/* The row of a member, or NULL. *hint is where the last search of this object ended (start with 0): members usually
 * come in the order of the table, so most searches compare once. */
const struct field *schema_find(const struct schema *s, struct str name, size_t *hint);
/* The same by protobuf tag, below the embedded message `in` (0: the message itself). */
const struct field *schema_find_proto(const struct schema *s, uint32_t tag, uint32_t in);
/* Whether rows lie in the embedded message `in`, or in one that is embedded in it. */
bool schema_embeds_proto(const struct schema *s, uint32_t in);

#endif
