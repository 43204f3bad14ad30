/* spawn: see spawn.h. glibc has no function for clone3, and a child on another stack cannot return from one of ours:
 * hence the few instructions. */
#include "node/sandbox/spawn.h"

#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct clone_args into(int group) {
    return (struct clone_args){
        .flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)group};
}

pid_t spawn_fork(int group) {
    struct clone_args a = into(group);

    return (pid_t)syscall(SYS_clone3, &a, sizeof(a));
}

#if defined(__x86_64__)
static long clone3_on_stack(struct clone_args *a, int (*fn)(void *), void *arg) {
    long r = SYS_clone3;
    register int (*f)(void *) __asm__("r12") = fn;
    register void *x __asm__("r13") = arg;

    __asm__ volatile("syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "xor %%ebp, %%ebp\n\t"
                     "mov %%r13, %%rdi\n\t"
                     "call *%%r12\n\t"
                     "hlt\n"
                     "1:"
                     : "+a"(r)
                     : "D"(a), "S"(sizeof(*a)), "r"(f), "r"(x)
                     : "rcx", "r11", "memory", "cc");
    return r;
}

pid_t spawn_borrowing(int group, int (*fn)(void *), void *arg, char *stack, size_t stack_size) {
    struct clone_args a = into(group);

    a.flags |= CLONE_VM | CLONE_VFORK;
    a.stack = (uint64_t)(uintptr_t)stack;
    a.stack_size = stack_size;
    long r = clone3_on_stack(&a, fn, arg);
    if (r < 0) {
        errno = (int)-r;
        return -1;
    }
    return (pid_t)r;
}
#else
pid_t spawn_borrowing(int group, int (*fn)(void *), void *arg, char *stack, size_t stack_size) {
    errno = ENOSYS;
    return -1;
}
#endif
