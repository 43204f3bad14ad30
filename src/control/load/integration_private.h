/* integration_private: the hooks of the table's rows, each family in a file of its own. */
#ifndef BERTH_CONTROL_INTEGRATION_PRIVATE_H
#define BERTH_CONTROL_INTEGRATION_PRIVATE_H

#include "control/load/integration.h"

/* ---- integration_job.c: batch/v1 Job, JobSet ---- */
bool batch_active(const struct job_look *l);
bool batch_ready(const struct job_look *l);
int64_t batch_reclaimable(const struct job_look *l, size_t i);
int batch_inject(const struct job_look *l, const struct podset_info *infos, size_t n,
                 yyjson_mut_doc *d, yyjson_mut_val *root, struct err *err);
int batch_restore(const struct job_look *l, yyjson_val *was, yyjson_mut_doc *d,
                  yyjson_mut_val *root);
void batch_check(yyjson_mut_val *root, struct causes *causes);
bool jobset_ready(const struct job_look *l);
int64_t jobset_reclaimable(const struct job_look *l, size_t i);
/* What JobSet and TrainJob share: as many jobs ready or done as `jobs`; done jobs' pods. */
bool jobs_ready(yyjson_val *status_list, int64_t jobs);
int64_t jobs_reclaimable(yyjson_val *status_list, struct str name, int64_t replicas, int64_t pods);
/* The smaller of parallelism and completions of a Job's spec, bounded. */
int64_t job_spec_pods(yyjson_val *spec);
/* Numbers are other people's: between 0 and what an int32 holds, so that a product or many in a sum fit. */
static inline int64_t bounded(int64_t n) {
    return n < 0 ? 0 : n > INT32_MAX ? INT32_MAX : n;
}

/* ---- integration_kubeflow.c: training operator, MPI ---- */
struct str kubeflow_priority_class(const struct job_look *l);
int mpi_prepare(yyjson_mut_doc *d, yyjson_mut_val *root);

/* ---- integration_train.c: TrainJob ---- */
int train_adapt(struct job_look *l, struct err *err);
bool train_ready(const struct job_look *l);
int64_t train_reclaimable(const struct job_look *l, size_t i);
int train_inject(const struct job_look *l, const struct podset_info *infos, size_t n,
                 yyjson_mut_doc *d, yyjson_mut_val *root, struct err *err);
int train_restore(const struct job_look *l, yyjson_val *was, yyjson_mut_doc *d,
                  yyjson_mut_val *root);
int train_prepare(yyjson_mut_doc *d, yyjson_mut_val *root);

/* ---- integration_ray.c ---- */
int ray_cluster_adapt(struct job_look *l, struct err *err);
int ray_job_adapt(struct job_look *l, struct err *err);
int ray_service_adapt(struct job_look *l, struct err *err);
bool ray_job_active(const struct job_look *l);
bool ray_job_ready(const struct job_look *l);
bool ray_job_finished(const struct job_look *l, struct job_end *ret);
bool ray_job_on_hold(const struct job_look *l);
bool ray_job_skipped(const struct job_look *l);
int ray_job_inject(const struct job_look *l, const struct podset_info *infos, size_t n,
                   yyjson_mut_doc *d, yyjson_mut_val *root, struct err *err);
void ray_cluster_check(yyjson_mut_val *root, struct causes *causes);
void ray_job_check(yyjson_mut_val *root, struct causes *causes);
void ray_service_check(yyjson_mut_val *root, struct causes *causes);

/* ---- integration_wrap.c: AppWrapper ---- */
int wrapper_adapt(struct job_look *l, struct err *err);
bool wrapper_active(const struct job_look *l);
bool wrapper_finished(const struct job_look *l, struct job_end *ret);
int wrapper_inject(const struct job_look *l, const struct podset_info *infos, size_t n,
                   yyjson_mut_doc *d, yyjson_mut_val *root, struct err *err);
int wrapper_restore(const struct job_look *l, yyjson_val *was, yyjson_mut_doc *d,
                    yyjson_mut_val *root);

/* ---- integration_look.c, for hooks ---- */

/* One more pod set at the end. NULL: out of memory (it is set to fail later, too). */
struct job_part *job_look_add(struct job_look *l, struct str name, int64_t count,
                              yyjson_val *template);
/* A mutable copy of a pod set's template, and it put in the template's place. */
yyjson_mut_doc *job_look_open(const struct job_look *l, size_t i);
int job_look_close(struct job_look *l, size_t i, yyjson_mut_doc *d);
/* The document, which does not change any more, in the look's arena; NULL: out of memory. */
yyjson_val *job_look_fixed(const struct job_look *l, yyjson_mut_doc *d);

#endif
