/* slicemap: see slicemap.h. */
#include "cli/kit/slicemap.h"

enum { CELL = 6, MIB_PER_GIB = 1024, MW_PER_W = 1000, COLOURS = 6, NAME_WIDTH = 14 };

/* Text of an annotation: whatever is in it, it does not steer the terminal. */
static void add_text(struct buf *out, struct str s) {
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        buf_ch(out, c < ' ' || c == 0x7f ? '?' : (char)c);
    }
}

static char letter(size_t i) {
    return (char)('a' + i % 26);
}

static void colour_on(struct buf *out, bool colour, size_t i) {
    static const int backgrounds[COLOURS] = {42, 44, 45, 46, 43, 41};
    if (colour) {
        buf_f(out, "\x1b[30;%dm", backgrounds[i % COLOURS]);
    }
}

static void colour_off(struct buf *out, bool colour) {
    if (colour) {
        buf_c(out, "\x1b[0m");
    }
}

static void add_head(const struct gpu_card *g, struct buf *out) {
    buf_f(out, "GPU %d  ", g->index);
    add_text(out, g->model);
    if (g->utilization_pct >= 0) {
        buf_f(out, "  %d %%", g->utilization_pct);
    } else if (g->mig_enabled && g->n_instances == 0) {
        buf_c(out, "  no slices");
    } else {
        buf_c(out, "  utilisation unknown");
    }
    if (g->temperature_c >= 0) {
        buf_f(out, "  %d C", g->temperature_c);
    }
    if (g->power_mw >= 0) {
        buf_f(out, "  %d W", g->power_mw / MW_PER_W);
    }
    if (g->memory_used_mib >= 0) {
        buf_f(out, "  %d/%d GiB", g->memory_used_mib / MIB_PER_GIB, g->memory_mib / MIB_PER_GIB);
    }
    if (!g->healthy) {
        buf_c(out, g->trouble.n ? "  OUT OF SERVICE: " : "  OUT OF SERVICE");
        add_text(out, g->trouble);
    }
    buf_ch(out, '\n');
}

/* The instance that covers memory slice `at`, or n_instances. */
static size_t covering(const struct gpu_card *g, int32_t at) {
    size_t i = 0;
    while (i < g->n_instances &&
           !(at >= g->instances[i].start && at < g->instances[i].start + g->instances[i].size)) {
        i++;
    }
    return i;
}

static void fill(struct buf *out, char c, int n) {
    for (int i = 0; i < n; i++) {
        buf_ch(out, c);
    }
}

static void add_bar(const struct gpu_card *g, bool colour, struct buf *out) {
    buf_c(out, "  [");
    for (int32_t at = 0; at < g->slices;) {
        size_t i = covering(g, at);
        int32_t size = 1;
        if (i < g->n_instances) {
            int32_t end = g->instances[i].start + g->instances[i].size;
            size = (end < g->slices ? end : g->slices) - at;
            colour_on(out, colour, i);
            fill(out, letter(i), size * CELL + size - 1);
            colour_off(out, colour);
        } else {
            fill(out, '.', CELL);
        }
        at += size;
        buf_ch(out, at < g->slices ? '|' : ']');
    }
    buf_ch(out, '\n');
}

static struct str profile_name(const struct gpu_card *g, int32_t id) {
    for (size_t i = 0; i < g->n_profiles; i++) {
        if (g->profiles[i].id == id) {
            return g->profiles[i].name;
        }
    }
    return STR("?");
}

static void add_holder(struct str uid, slicemap_holder *holder, void *ctx, struct buf *out) {
    if (uid.n) {
        holder(ctx, uid, out);
    } else {
        buf_c(out, "idle");
    }
    buf_ch(out, '\n');
}

static void add_instances(const struct gpu_card *g, bool colour, slicemap_holder *holder, void *ctx,
                          struct buf *out) {
    for (size_t i = 0; i < g->n_instances; i++) {
        const struct gpu_instance *in = &g->instances[i];
        struct str name = profile_name(g, in->profile_id);
        buf_c(out, "   ");
        colour_on(out, colour, i);
        buf_f(out, " %c ", letter(i));
        colour_off(out, colour);
        buf_ch(out, ' ');
        add_text(out, name);
        fill(out, ' ', name.n < NAME_WIDTH ? (int)(NAME_WIDTH - name.n) : 1);
        if (in->utilization_pct >= 0) {
            buf_f(out, "%3d %%  ", in->utilization_pct);
        } else {
            buf_c(out, "   ?   ");
        }
        add_holder(in->pod_uid, holder, ctx, out);
    }
}

void slicemap_draw(const struct gpu_card *g, bool colour, slicemap_holder *holder, void *ctx,
                   struct buf *out) {
    add_head(g, out);
    if (g->mig_enabled && g->slices > 0) {
        add_bar(g, colour, out);
        add_instances(g, colour, holder, ctx, out);
        return;
    }
    int width = (g->slices > 0 ? g->slices : 8) * (CELL + 1) - 1;
    buf_c(out, "  [");
    if (g->pod_uid.n) {
        colour_on(out, colour, 0);
        fill(out, letter(0), width);
        colour_off(out, colour);
    } else {
        fill(out, '.', width);
    }
    buf_c(out, "]\n");
    if (g->pod_uid.n) {
        buf_c(out, "    a  whole GPU     ");
        add_holder(g->pod_uid, holder, ctx, out);
    }
}
