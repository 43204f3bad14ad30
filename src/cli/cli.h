/*
 * cli: the command line: people's verbs (submit, cancel, queue, logs, top, version, completion), and the way to those
 * that work on this machine, which main hands over as a table.
 *
 * Exit codes are stable, for scripts:
 *
 *     0  done                      4  not allowed, or not known to the server
 *     1  failed                    5  the server cannot be reached
 *     2  wrong usage               6  the job failed (submit --wait)
 *     3  no such thing
 *
 * Results go to standard output, what is said on the way to standard error. Without --kubeconfig, $KUBECONFIG and
 * ~/.kube/config, the kubeconfig that `berth up` wrote is used.
 */
#ifndef BERTH_CLI_CLI_H
#define BERTH_CLI_CLI_H

enum cli_exit {
    CLI_OK = 0,
    CLI_FAILED = 1,
    CLI_USAGE = 2,
    CLI_NOT_FOUND = 3,
    CLI_FORBIDDEN = 4,
    CLI_UNREACHABLE = 5,
    CLI_JOB_FAILED = 6,
};

struct cli_verb;

/* argv[1] is the verb; none, "help" and "--help" tell what there is. machine: further verbs, NULL-terminated. */
int cli_main(int argc, char **argv, const struct cli_verb *const *machine);

#endif
