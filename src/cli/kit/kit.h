/* kit: declarations shared by the verbs: the connection, reading objects, printing them. */
#ifndef BERTH_CLI_KIT_H
#define BERTH_CLI_KIT_H

#include "base/arena.h"
#include "cli/cli.h"
#include "cli/kit/options.h"
#include "kube/client.h"
#include "wire/json/json.h"

enum cli_format { FORMAT_TABLE, FORMAT_WIDE, FORMAT_NAME, FORMAT_JSON, FORMAT_YAML };

struct cli {
    struct cli_args args;
    enum cli_format format;
    bool colour; /* standard output is a terminal that may have colours */
    int columns; /* of the terminal; 0: no terminal, lines are not cut */
    struct arena arena;
    struct loop *loop;
    struct kube_client *client;            /* made by cli_connect */
    struct str project;                    /* after cli_connect */
    struct err err;                        /* of the last failure */
    const struct cli_verb *const *machine; /* the verbs that main added */
};

extern const struct cli_verb cli_submit, cli_cancel, cli_queue, cli_logs, cli_top, cli_version;
extern const struct cli_verb cli_completion, cli_book, cli_bookings, cli_availability, cli_gpu;
extern const struct cli_verb cli_chat, cli_fit, cli_key, cli_project, cli_whoami;
extern const struct cli_verb cli_models, cli_deploy, cli_services;
extern const struct cli_verb *const cli_verbs[]; /* NULL-terminated */
/* The i-th of all verbs, ours and main's; NULL when there are no more. */
const struct cli_verb *cli_verb_at(const struct cli *c, size_t i);

/* Whether there is a kubeconfig to connect by. */
bool cli_has_server(struct cli *c);
/* 0, or the exit code after the trouble was told. */
int cli_connect(struct cli *c);
/* Tells c->err (or what is given) and returns the exit code for it. */
int cli_fail(struct cli *c, const char *doing);
int cli_usage(struct cli *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int cli_exit_code(int code);

/* GET; *ret in c->arena. 0 or a code of err.h, with c->err set. */
int cli_get(struct cli *c, struct str path, yyjson_val **ret);
int cli_request(struct cli *c, const char *method, struct str path, struct str body,
                yyjson_val **ret);
/* Whether the project does not exist, as c->err says then. Who may not ask is told nothing. */
bool cli_no_project(struct cli *c);
/* "; did you mean a or b?", "; there are a, b" where they are few, or nothing; in c->arena. */
struct str cli_meant(struct cli *c, struct str want, const struct str *names, size_t n);
/* metadata.name of each item of these lists (NULL: none), in c->arena. */
size_t cli_names(struct cli *c, yyjson_val *const *lists, size_t n_lists, struct str **ret);
/* A path in c->arena. ns empty: all. */
struct str cli_path(struct cli *c, const char *api_version, const char *plural, struct str ns,
                    struct str name, const char *sub);
struct str cli_path_with(struct cli *c, struct str path, const char *key, struct str value);

/* Prints one object or a list in -o json, yaml or name; false for tables, which the verb prints itself. */
bool cli_print(struct cli *c, yyjson_val *v);
/* The same of JSON text, which it releases; an exit code. */
int cli_print_text(struct cli *c, struct buf *text);
void cli_out(const struct buf *b);
/* "5s", "3m", "2h", "4d": since then. */
struct str cli_age(struct cli *c, struct str time);
/* The condition of this type in status.conditions, or NULL. */
yyjson_val *cli_condition(yyjson_val *object, const char *type);
bool cli_condition_true(yyjson_val *object, const char *type);
void cli_sleep_ms(int ms);
/* Replaces control characters: what a server says does not steer the terminal. */
void cli_clean(char *text);

/* The newest pod of a job, or NULL: c->err says why when it is an error (code != 0). */
int cli_job_pod(struct cli *c, struct str ns, struct str job, yyjson_val **ret);
/* As well, how many there are. */
int cli_job_pods(struct cli *c, struct str ns, struct str job, yyjson_val **ret, size_t *ret_n);
/* Copies a pod's log to standard output. */
int cli_follow_log(struct cli *c, struct str ns, struct str pod, bool follow, const char *tail);
/* How a job gets on, in words; *ret_pod (untouched otherwise) once a pod of it has a log. */
struct str cli_job_words(struct cli *c, struct str ns, yyjson_val *job, yyjson_val **ret_pod);
/* Its exit code, or -1 while it goes on. */
int cli_job_ended(yyjson_val *job);
/* Tells how a job gets on until it ends; an exit code. Ctrl-C ends the telling, not the job, and says so. */
int cli_follow_job(struct cli *c, struct str ns, struct str name);

#endif
