// Gaussian-process regression with a squared exponential of variance 1. Every point has its own row.
#ifndef GAUSSIAN_PROCESS_H
#define GAUSSIAN_PROCESS_H

struct gaussian_process {
  long dimension, capacity, size, whitened_rows;
  double scale, noise;
  double *points, *rewards, *factor, *reciprocals, *whitened, *panel;
};

struct gaussian_process gp_create(long dimension, double lengthscale, double noise_variance, long capacity);
void gp_release(struct gaussian_process *gp);

/** Adds a point with the reward 0, as a row of L. */
void gp_add(struct gaussian_process *gp, const double *x);

void gp_reward(struct gaussian_process *gp, long row, double reward);

/** Updates L^-1 rewards from the first changed row on. */
const double *gp_whitened(struct gaussian_process *gp);

/** Kernel values of one point at k points (row-major). */
void gp_kernel(const struct gaussian_process *gp, const double *x, const double *points, long k, double *out);

/** Posterior means and variances of k candidates (row-major). */
void gp_moments(struct gaussian_process *gp, const double *xs, long k, double *means, double *variances);

#endif
