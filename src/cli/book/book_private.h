/*
 * book_private: what the words of `berth book`, `berth bookings` and `berth availability` share: the asker's clock,
 * requests whose refusals are read, and how bookings are told.
 */
#ifndef BERTH_CLI_BOOK_PRIVATE_H
#define BERTH_CLI_BOOK_PRIVATE_H

#include "cli/book/when.h"
#include "cli/kit/kit.h"

#define BOOK_API "berth.dev/v1alpha1"

struct book {
    struct cli *c;
    struct zones *zones;
    struct when_now now;
    struct str zone; /* its name */
};

/* The zone (--zone, $TZ, /etc/localtime) and the present. 0, or an exit code after it was told. */
int book_begin(struct cli *c, struct book *b);
void book_end(struct book *b);

/* A request whose answer is read also when it is a refusal: *ret is the object or the Status, NULL when there is no
 * answer. 0 or a code, with c->err set. content_type NULL: JSON. */
int book_request(struct cli *c, const char *method, struct str path, struct str body,
                 const char *content_type, yyjson_val **ret);
/* A merge patch of spec: `spec` is the JSON of its members. */
int book_patch(struct book *b, struct str name, struct str spec, yyjson_val **ret);
struct str book_path(struct book *b, const char *plural, struct str name);

/* ---- book_spec.c: what is asked for ---- */

struct book_line {
    struct str resource;
    int64_t count;
};
enum { BOOK_LINES_MAX = 16 };
struct book_want {
    struct book_line lines[BOOK_LINES_MAX];
    size_t n_lines;
    struct when start, end;
    int64_t memory; /* bytes that one unit must have, of --memory; 0: not asked by memory */
    bool memory_gb; /* it was said in GB, as in the names of slices */
    int64_t count;  /* of --memory */
};
/* "2g.35gb" or "1g.18gb+me" to "nvidia.com/mig-2g.35gb", in the arena; empty when it is none. */
struct str book_slice(struct arena *a, struct str profile);
/* Lines and times by the options. ERR_BAD_REQUEST names the option. `times`: they are needed. */
int book_want_read(struct book *b, bool times, struct book_want *ret, struct err *err);
/* With --memory, and with start "now": asks the server. 0, or an exit code after the trouble was told. */
int book_want_settle(struct book *b, struct book_want *w);
/* book_sizes.c: what there is at a time, with flavor, resource, memoryGiB, gpuShare, total each. 0 or a code. */
int book_sizes(struct book *b, int64_t at, yyjson_val **ret);
/* The members of spec without start and end, `"lines":[...],...`. */
void book_want_write(struct book *b, const struct book_want *w, struct buf *out);
void book_times_write(struct book *b, const struct book_want *w, struct buf *out);

/* ---- book_tell.c: how it is said; texts in the arena ---- */

/* "2 x 2g.35gb, 1 x GPU", of spec.lines; with flavors when they are said. */
struct str book_lines_text(struct cli *c, yyjson_val *lines);
/* "2g.35gb", "GPU", or the resource as it is. */
struct str book_resource_text(struct arena *a, struct str resource);
/* status.start and end, else those of spec; false when one is missing. */
bool book_times(yyjson_val *booking, int64_t *ret_start, int64_t *ret_end);
/* On standard output: what became of a booking; an exit code. */
int book_tell(struct book *b, yyjson_val *booking);
/* On standard error: refusals, conflicts, and alternatives as commands. status: of a booking or a check. */
void book_tell_refused(struct book *b, yyjson_val *status, yyjson_val *spec);
/* A phase that is an answer: not empty and not the first moment. */
bool book_decided(yyjson_val *booking);
bool book_phase_bad(struct str phase);  /* Rejected, Expired, Cancelled */
bool book_phase_over(struct str phase); /* those, Ended and Released: nothing comes after them */

/* ---- the words ---- */
int book_check(struct book *b);  /* `berth book check ...`, and --dry-run */
int book_series(struct book *b); /* --repeat */
int book_extend(struct book *b);
int book_cancel(struct book *b);
int book_decide(struct book *b, const char *decision); /* approve, reject */
int book_claim(struct book *b);
int book_feed(struct book *b);
/* ReservationCheck of a spec (the members of it); *ret is the check. */
int book_ask_check(struct book *b, struct str spec, yyjson_val **ret);
/* After a refusal in c->err: tells it, with what would fit instead by a check of `spec`; an exit code. */
int book_refused(struct book *b, struct str spec, const char *doing);
/* Waits until the planner has decided this generation of it: *ret is the booking then. 0 or a code. */
int book_wait(struct book *b, struct str name, int64_t generation, yyjson_val **ret);

#endif
