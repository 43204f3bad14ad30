/* calendar (core): what is booked when, and on which card. */
#include "core/calendar.h"

#include "base/mem.h"

struct calendar {
    struct calendar_options o;
};

struct calendar *calendar_new(const struct calendar_options *o) {
    struct calendar *c = mem_zalloc(sizeof(*c));
    if (c != NULL && o != NULL) {
        c->o = *o;
    }
    return c;
}

void calendar_free(struct calendar *c) {
    mem_free(c);
}
