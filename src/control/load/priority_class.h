/*
 * priority_class: a WorkloadPriorityClass that gets another value gives it to every Workload that names the class, also
 * to those that run.
 */
#ifndef BERTH_CONTROL_PRIORITY_CLASS_H
#define BERTH_CONTROL_PRIORITY_CLASS_H

extern const struct controller_row priority_class_controller;

#endif
