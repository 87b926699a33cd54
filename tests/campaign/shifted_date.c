// Another date for one process, which may jump and drift while the process runs; its other clocks
// stay as they are. libfaketime cannot do this here: it shifts the timers of the monotonic clock as
// well (timerfd_settime with TFD_TIMER_ABSTIME, which Asio uses for a timer that is due), and these
// then never expire.
//
//     cc -shared -fPIC -o shifted_date.so shifted_date.c -ldl
//     LD_PRELOAD=shifted_date.so AGUI_SHIFTED_DATE=FILE PROGRAM
//
// FILE holds two numbers: the shift in seconds, and how much faster the date runs, in percent. It
// is read again and again.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static const int64_t second = 1000000000;
static const int64_t look_again_after = 100000000;

typedef int (*get_time)(clockid_t, struct timespec*);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static get_time real_get_time;
static int64_t looked_at; // Monotonic.
static int64_t began_at;  // Monotonic: the drift counts from here.
static double shift;      // Seconds.
static double drift;      // Percent.

static int64_t now(clockid_t clock) {
    struct timespec time;
    real_get_time(clock, &time);
    return time.tv_sec * second + time.tv_nsec;
}

static int64_t shifted(int64_t date) {
    pthread_mutex_lock(&mutex);
    const int64_t at = now(CLOCK_MONOTONIC);
    if (looked_at == 0 || at - looked_at > look_again_after) {
        const char* name = getenv("AGUI_SHIFTED_DATE");
        FILE* file = name ? fopen(name, "re") : NULL;
        double seconds = 0;
        double percent = 0;
        if (file && fscanf(file, "%lf %lf", &seconds, &percent) == 2) {
            began_at = looked_at == 0 || seconds != shift || percent != drift ? at : began_at;
            shift = seconds;
            drift = percent;
        }
        if (file) {
            fclose(file);
        }
        looked_at = at;
    }
    const double moved = shift * (double)second + (double)(at - began_at) * drift / 100;
    pthread_mutex_unlock(&mutex);
    return date + (int64_t)moved;
}

int clock_gettime(clockid_t clock, struct timespec* time) {
    if (!real_get_time) {
        real_get_time = (get_time)dlsym(RTLD_NEXT, "clock_gettime");
    }
    const int result = real_get_time(clock, time);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
        const int64_t date = shifted(time->tv_sec * second + time->tv_nsec);
        time->tv_sec = date / second;
        time->tv_nsec = date % second;
    }
    return result;
}

int gettimeofday(struct timeval* restrict time, void* restrict zone) {
    (void)zone;
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    time->tv_sec = precise.tv_sec;
    time->tv_usec = precise.tv_nsec / 1000;
    return 0;
}

time_t time(time_t* out) {
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    if (out) {
        *out = precise.tv_sec;
    }
    return precise.tv_sec;
}
