// A workload of the program. It makes its state from the benchmark's inputs and writes its answer.
#ifndef WORKLOAD_H
#define WORKLOAD_H

struct workload {
  const char *name;
  /** Makes the state from the whole-number parameters and the inputs. The inputs stay allocated. */
  void *(*start)(const long *parameters, const double *inputs);
  /** Does the work once. */
  void (*run)(void *state);
  /** Writes the answer and returns its length. Called before `run`. */
  long (*answer)(void *state, double *out);
};

extern const struct workload ridge_score, otf_lin_ucb_round;
extern const struct workload gp_append, gp_score, late_conversion, gp_ucb_sdf_grid;

#endif
