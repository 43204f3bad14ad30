/*
 * reservation_scene: for tests of the planner: a fake world with two H200 on one node, a pool, two projects, and a hand
 * that says of each booking that its objects are ready and, in the end, gone. Times are hours since the world's
 * midnight, 2026-03-01T00:00:00Z, so that clocks change in it.
 */
#ifndef BERTH_CONTROL_RESERVATION_SCENE_H
#define BERTH_CONTROL_RESERVATION_SCENE_H

#include "base/test.h"
#include "control/book/reservation.h"
#include "control/test/fake_world.h"
#include "core/calendar/calendar.h"
#include "wire/text/zone.h"

#define SCENE_GPU "nvidia.com/gpu"
#define SCENE_2G "nvidia.com/mig-2g.35gb"
#define SCENE_3G "nvidia.com/mig-3g.71gb"
#define SCENE_MIDNIGHT INT64_C(1772323200) /* 2026-03-01T00:00:00Z */

struct scene {
    struct fake_world w;
    struct reservation_controller *c;
    struct zones *zones;
    bool no_hand; /* nobody says that objects are ready */
    int step;     /* minutes between two moves of the hand; 0: 1 */
};

void scene_init(struct scene *s, int gpus);
void scene_release(struct scene *s);
void scene_restart(struct scene *s); /* another planner, from what is written */
/* Moves on; the hand moves each minute (or step). The certificate is proved each time. */
void scene_minutes(struct scene *s, int minutes);
void scene_hour(struct scene *s, double hour); /* to this time */
/* `more`: further members of the spec, each with a comma before it; NULL: none. */
void scene_book(struct scene *s, const char *ns, const char *name, double from, double to,
                const char *resource, int count, const char *more);
void scene_spec(struct scene *s, const char *ns, const char *name, const char *patch);
const char *scene_text(struct scene *s, const char *ns, const char *name, const char *dotted);
void scene_policy(struct scene *s, const char *spec);
/* Cards of the node, healthy or not. */
void scene_node(struct scene *s, int gpus, const bool *broken);
/* The same, all healthy; on card `carved` there are a 2g.35gb from slice 0 and a 3g.71gb from slice 4. */
void scene_carve(struct scene *s, int gpus, int carved);
/* "2026-03-01T09:00:00Z" of hour 9; a static buffer for each of few calls. */
const char *scene_time(double hour);

#define assert_phase(s_, ns_, name_, phase_)                                                       \
    assert_string_equal(scene_text(s_, ns_, name_, "status.phase"), phase_)
#define assert_reason(s_, ns_, name_, reason_)                                                     \
    assert_string_equal(scene_text(s_, ns_, name_, "status.reason"), reason_)

#endif
