/*
 * verbs: the processes of Berth, each a function like main. What people type otherwise is in cli.
 *
 * Exit statuses are those of cli/cli.h: 0, 1 failed, 2 usage.
 */
#ifndef BERTH_WORLD_VERBS_H
#define BERTH_WORLD_VERBS_H

int up_main(int argc, char **argv);      /* the embedded world */
int node_verb_main(int argc, char **argv); /* one machine's agent */
int down_main(int argc, char **argv);    /* ends `berth up` and every pod */
int backup_main(int argc, char **argv);
int restore_main(int argc, char **argv);

#endif
