// peer WORKLOAD INPUTS ANSWER [NUMBER ...]: reads doubles from the file INPUTS, writes doubles to the file ANSWER and prints "ready".
// For each count on standard input it does the work that many times and prints the seconds.
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "factor.h"
#include "workload.h"

enum { MOST_PARAMETERS = 8, MOST_ANSWERS = 1 << 20 };

static const struct workload *const workloads[] = {
    &ridge_score, &otf_lin_ucb_round, &gp_append, &gp_score, &late_conversion, &gp_ucb_sdf_grid,
};

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static double *read_doubles(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END)) fail(path);
  long count = ftell(file) / (long)sizeof(double);
  rewind(file);
  double *values = doubles(count);
  if (fread(values, sizeof(double), (size_t)count, file) != (size_t)count) fail(path);
  fclose(file);
  return values;
}

static void write_doubles(const char *path, const double *values, long count) {
  FILE *file = fopen(path, "wb");
  if (!file || fwrite(values, sizeof(double), (size_t)count, file) != (size_t)count || fclose(file)) fail(path);
}

/** Processor time of this thread, in seconds. It excludes other work of the machine. */
static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int main(int count, char **arguments) {
  const struct workload *workload = NULL;
  for (size_t i = 0; count > 3 && i < sizeof workloads / sizeof *workloads; i++) {
    if (!strcmp(workloads[i]->name, arguments[1])) workload = workloads[i];
  }
  if (!workload || count - 4 > MOST_PARAMETERS) {
    fputs("usage: peer WORKLOAD INPUTS ANSWER [NUMBER ...]\n", stderr);
    return 1;
  }
  long parameters[MOST_PARAMETERS];
  for (int i = 4; i < count; i++) parameters[i - 4] = atol(arguments[i]);
  void *state = workload->start(parameters, read_doubles(arguments[2]));
  double *answer = doubles(MOST_ANSWERS);
  write_doubles(arguments[3], answer, workload->answer(state, answer));
  puts("ready");
  fflush(stdout);
  long times;
  while (scanf("%ld", &times) == 1) {
    double start = now();
    for (long i = 0; i < times; i++) workload->run(state);
    printf("%.9f\n", now() - start);
    fflush(stdout);
  }
  return 0;
}
