// A workload of the program: its state is made from numbers that the benchmark wrote, and it says what it computed.
#ifndef WORKLOAD_H
#define WORKLOAD_H

struct workload {
  const char *name;
  /** Makes the state from the whole-number parameters and the inputs, which stay. */
  void *(*start)(const long *parameters, const double *inputs);
  /** Does the work once. */
  void (*run)(void *state);
  /** Writes what it computes, and returns how many numbers; called before `run`. */
  long (*answer)(void *state, double *out);
};

extern const struct workload ridge_score, otf_lin_ucb_round;
extern const struct workload gp_append, gp_score, late_conversion, gp_ucb_sdf_grid;

#endif
