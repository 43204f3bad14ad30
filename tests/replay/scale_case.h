/*
 * scale_case: recorded answers of autoscalers, each replayed by the file for its kind. What a line holds is told where
 * it is read; times are whole seconds from the start of a case.
 */
#ifndef BERTH_TESTS_REPLAY_SCALE_CASE_H
#define BERTH_TESTS_REPLAY_SCALE_CASE_H

#include <stdbool.h>

#include "api/tables/field.h"
#include "wire/json/json.h"

enum { SCALE_DIFFERENCE_BYTES = 1 << 20 };

/* True when every answer is as written; else *difference says where and how. `a` is for everything made here. */
typedef bool scale_replay(yyjson_val *c, struct arena *a, struct buf *difference);
scale_replay scale_hpa, scale_decision, scale_cron, scale_formula, scale_loop;
scale_replay scale_trigger, scale_keda_hpa, scale_admission, scale_pack;
scale_replay scale_prometheus, scale_metricsapi;

/* Says in *difference that something is not as written, and is false: `return scale_differs(d, "...")`. */
bool scale_differs(struct buf *difference, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Shared by the files of triggers. */
struct hpa_metric;
struct str_map scale_texts(struct arena *a, yyjson_val *v);
bool scale_metric_agrees(const struct hpa_metric *got, yyjson_val *want, struct arena *a);
/* Shared by the files of ScaledObjects. */
struct condition_list;
struct keda_activity_map;
bool scale_conditions_agree(const struct condition_list *got, yyjson_val *want,
                            struct buf *difference);
bool scale_activity_agrees(const struct keda_activity_map *got, yyjson_val *want,
                           struct buf *difference);

#endif
