/* reservation_series_private: declarations shared by the files of the series' controller. */
#ifndef BERTH_CONTROL_RESERVATION_SERIES_PRIVATE_H
#define BERTH_CONTROL_RESERVATION_SERIES_PRIVATE_H

#include "api/tables/view_reservation.h"
#include "base/map.h"
#include "control/kit/controller.h"
#include "control/series/reservation_series.h"
#include "wire/json/json.h"
#include "wire/text/rrule.h"
#include "wire/text/zone.h"

enum { SERIES_DAY = 86400, SERIES_KEEP = 31 * SERIES_DAY };
#define SERIES_CANCELLED "cancelled" /* in place of a fingerprint: by the series, not by somebody */

/* A create that was refused. The second time it is no accident: the booking does not fit. Kept until status says so. */
struct series_refusal {
    struct series_refusal *next;
    int64_t local, generation;
    int times;
    char message[];
};

/* What is remembered of a series beside its object; all of it can be found again. */
struct series_memory {
    struct str ns, name;
    struct map members; /* names of its Reservations: char *, owned */
    struct series_refusal *refusals;
    char *key; /* "ns/name" */
};

struct reservation_series_controller {
    struct controller base;
    const struct kind *series, *reservations, *policies; /* of base.kinds */
    struct zones *zones;
    struct zones *own_zones; /* where env has none */
    struct map memories;     /* by key: series_memory */
    bool lost;               /* there was no memory to remember some Reservation */
};

/* NULL: there is none, or (make) out of memory. */
struct series_memory *series_memory_of(struct reservation_series_controller *c, struct str ns,
                                       struct str name, bool make);

/* ---- one look (reservation_series_look.c) ---- */

/* One occurrence: what should be, what is. */
struct occurrence {
    int64_t local, start, end; /* seconds; start and end are instants */
    struct str id, name;       /* "2026-11-23T09:00:00"; of the Reservation */
    bool wanted;               /* the rule has it, and no exdate takes it out */
    const struct object *obj;  /* NULL: there is none */
    struct reservation *rsv;
    yyjson_val *spec; /* of obj */
    const char *skip; /* why it is left out: "Conflict", "Deleted"; NULL: it is not */
    struct str skip_message;
    bool skip_told; /* status says so already */
    bool listed;    /* status says that it was made */
    bool removed;   /* by this look */
};

struct series_look {
    struct reservation_series_controller *c;
    struct arena *a;
    const struct object *obj;
    struct reservation_series *s;
    yyjson_val *template; /* members of spec that each occurrence gets */
    unsigned mask;        /* which those are */
    const struct zone *zone;
    struct rrule rule;
    int64_t start_local, length; /* seconds */
    int64_t now, horizon;        /* seconds */
    int64_t grid;                /* of the policy, seconds, and its time zone */
    struct str grid_zone;
    int64_t next;         /* the first start beyond the horizon; INT64_MAX: none */
    struct occurrence *v; /* in order of local time */
    size_t n, cap;
    bool settled;       /* it was booked before: nothing is taken back for a conflict */
    bool given_up;      /* it met a conflict, and its spec is still the same */
    const char *reason; /* of the condition Booked, and its message */
    struct str message;
    size_t moved; /* occurrences whose times were changed by this look */
    struct round *round;
};

/* Lays the occurrences out beside what there is. l has c, a, obj, now. ERR_INVALID with err: the rule, the zone or the
 * start is none; l->s is there, and nothing is to be changed. ERR_NOMEM. */
int series_look_read(struct series_look *l, struct err *err);
/* The Reservations of a series that is gone. */
int series_look_orphans(struct series_look *l, struct series_memory *m);
/* Whether its series may still change it: nothing of it is being prepared, and it is not over. */
bool series_may_change(const struct series_look *l, const struct occurrence *o);
struct str series_phase(const struct occurrence *o); /* empty: not decided, or not there */
/* A fingerprint of times, and of the members in mask: "<hash>.<mask>". */
struct str series_intent(struct arena *a, yyjson_val *spec, int64_t start, int64_t end,
                         unsigned mask);
/* Whether it has what the series wants now; and whether somebody else changed it since the series wrote it. */
bool series_is_current(struct series_look *l, const struct occurrence *o);
bool series_was_edited(struct series_look *l, const struct occurrence *o);

/* ---- writing, into l->round (reservation_series_write.c) ---- */

extern const char
    *const series_members[]; /* of a template, by their bit in a mask; NULL-terminated */
/* The template with the series' zone and policy put in. NULL: out of memory. */
yyjson_val *series_template(struct arena *a, yyjson_val *spec,
                            const struct reservation_series_spec *s);
void series_create(struct series_look *l, struct occurrence *o);
void series_update(struct series_look *l, struct occurrence *o);
void series_cancel(struct series_look *l, struct occurrence *o, const char *reason);
void series_remove(struct series_look *l, struct occurrence *o);
/* The status, where it differs. */
void series_put_status(struct series_look *l);

#endif
