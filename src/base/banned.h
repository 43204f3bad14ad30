/*
 * banned: functions that do not compile here, after git's banned.h. Included first in every file by a compiler flag.
 *
 * Each has a length, a bound or a thread-safe twin that is used instead: memcpy and str, snprintf, strtok -> str_next,
 * gmtime_r, mkstemp, open with O_CLOEXEC.
 */
#ifndef BERTH_BASE_BANNED_H
#define BERTH_BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BANNED(f) sorry_##f##_is_banned

#undef strcpy
#define strcpy(x, y) BANNED(strcpy)
#undef strcat
#define strcat(x, y) BANNED(strcat)
#undef strncpy
#define strncpy(x, y, n) BANNED(strncpy)
#undef strncat
#define strncat(x, y, n) BANNED(strncat)
#undef strtok
#define strtok(x, y) BANNED(strtok)
#undef sprintf
#define sprintf(...) BANNED(sprintf)
#undef vsprintf
#define vsprintf(...) BANNED(vsprintf)
#undef gets
#define gets(x) BANNED(gets)
#undef mktemp
#define mktemp(x) BANNED(mktemp)
#undef tmpnam
#define tmpnam(x) BANNED(tmpnam)
#undef gmtime
#define gmtime(t) BANNED(gmtime)
#undef localtime
#define localtime(t) BANNED(localtime)
#undef ctime
#define ctime(t) BANNED(ctime)
#undef asctime
#define asctime(t) BANNED(asctime)
#undef atoi
#define atoi(x) BANNED(atoi)
#undef atol
#define atol(x) BANNED(atol)
#undef atof
#define atof(x) BANNED(atof)
#undef alloca
#define alloca(x) BANNED(alloca)
#undef rand
#define rand() BANNED(rand)
#undef srand
#define srand(x) BANNED(srand)

#endif
