/* image_user: see image_user.h. */
#include "node/images/image_user.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FILE_MOST = 256 << 10, FIELDS = 7, ID_MOST = 65535 };

/* A file of the image; empty when it is not there. */
static struct str load(const char *root, const char *name, char text[FILE_MOST]) {
    struct open_how how = {.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK, .resolve = RESOLVE_IN_ROOT};
    int dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int fd = dir == -1 ? -1 : (int)syscall(SYS_openat2, dir, name, &how, sizeof(how));
    ssize_t n = 0, k = 1;

    while (fd != -1 && k > 0 && n < FILE_MOST) {
        k = read(fd, text + n, (size_t)(FILE_MOST - n));
        n += k > 0 ? k : 0;
    }
    if (fd != -1) {
        close(fd);
    }
    if (dir != -1) {
        close(dir);
    }
    return str_from(text, (size_t)n);
}

/* The line whose first field is `name`, or whose third is `id` where name is empty; in fields. */
static bool find_line(struct str text, struct str name, int64_t id, struct str fields[FIELDS]) {
    struct str line, rest;
    int64_t own;

    while (str_next(&text, '\n', &line)) {
        size_t n = 0;
        rest = line;
        while (n < FIELDS && str_next(&rest, ':', &fields[n])) {
            n++;
        }
        for (size_t i = n; i < FIELDS; i++) {
            fields[i] = STR("");
        }
        if (n >= 3 &&
            (name.n ? str_eq(fields[0], name) : str_to_i64(fields[2], &own) && own == id)) {
            return true;
        }
    }
    return false;
}

/* A number, or a name that `text` knows, whose line is then in `fields`; *ret_known: it is. */
static int find_id(struct str text, struct str who, const char *what, struct str fields[FIELDS],
                   bool *ret_known, int64_t *ret, struct err *err) {
    int64_t id = 0;
    bool number = str_to_i64(who, &id);

    *ret_known = find_line(text, number ? STR("") : who, id, fields);
    if (!number && (!*ret_known || !str_to_i64(fields[2], &id))) {
        return err_set(err, ERR_INVALID,
                       "the image runs as %s \"%.*s\", whom its own files do not know", what,
                       STR_ARG(str_head(who, 64)));
    }
    if (id < 0 || id > ID_MOST) {
        return err_set(err, ERR_INVALID, "the image runs as %s %lld: expected at most %d", what,
                       (long long)id, ID_MOST);
    }
    *ret = id;
    return 0;
}

int image_user_find(const char *root, struct str user, struct image_user *ret, struct err *err) {
    static char text[FILE_MOST];
    struct str who, group, fields[FIELDS];
    int64_t uid = 0, gid = 0;
    bool known, has_group = str_cut(user, ':', &who, &group) && group.n;
    struct image_user u = {.home = "/"};

    int code = find_id(load(root, "etc/passwd", text), who.n ? who : STR("0"), "user", fields,
                       &known, &uid, err);
    if (code) {
        return code;
    }
    if (known) {
        str_copy(fields[5].n ? fields[5] : STR("/"), u.home, sizeof(u.home));
        gid = str_to_i64(fields[3], &gid) && gid >= 0 && gid <= ID_MOST ? gid : 0;
    }
    if (has_group) {
        code = find_id(load(root, "etc/group", text), group, "group", fields, &known, &gid, err);
    }
    if (code == 0) {
        u.uid = (uid_t)uid;
        u.gid = (gid_t)gid;
        *ret = u;
    }
    return code;
}
