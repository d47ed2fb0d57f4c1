#include "gaussian-process.h"

#include <emmintrin.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "factor.h"
#include "workload.h"

struct gaussian_process gp_create(long dimension, double lengthscale, double noise_variance, long capacity) {
  return (struct gaussian_process){
      .dimension = dimension,
      .capacity = capacity,
      .scale = 1 / lengthscale,
      .noise = noise_variance,
      .points = doubles(capacity * dimension),
      .rewards = doubles(capacity),
      .factor = doubles(capacity * (capacity + 1) / 2),
      .reciprocals = doubles(capacity),
      .whitened = doubles(capacity),
      .panel = doubles((capacity + dimension) * LANES),
  };
}

void gp_release(struct gaussian_process *gp) {
  free(gp->points), free(gp->rewards), free(gp->factor), free(gp->reciprocals), free(gp->whitened), free(gp->panel);
}

void gp_kernel(const struct gaussian_process *gp, const double *x, const double *points, long k, double *out) {
  long d = gp->dimension;
  for (long c = 0; c < k; c++) {
    double square = 0;
    for (long j = 0; j < d; j++) {
      double difference = (points[c * d + j] - x[j]) * gp->scale;
      square += difference * difference;
    }
    out[c] = exp(-0.5 * square);
  }
}

void gp_add(struct gaussian_process *gp, const double *x) {
  long n = gp->size++;
  double *row = factor_row(gp->factor, n);
  memcpy(gp->points + n * gp->dimension, x, (size_t)gp->dimension * sizeof(double));
  gp_kernel(gp, x, gp->points, n, row);
  solve(gp->factor, gp->reciprocals, 0, n, row);
  double pivot = 1 + gp->noise;
  for (long j = 0; j < n; j++) pivot -= row[j] * row[j];
  row[n] = sqrt(pivot);
  gp->reciprocals[n] = 1 / row[n];
  gp->rewards[n] = 0;
}

void gp_reward(struct gaussian_process *gp, long row, double reward) {
  gp->rewards[row] = reward;
  if (row < gp->whitened_rows) gp->whitened_rows = row;
}

const double *gp_whitened(struct gaussian_process *gp) {
  long from = gp->whitened_rows;
  memcpy(gp->whitened + from, gp->rewards + from, (size_t)(gp->size - from) * sizeof(double));
  solve(gp->factor, gp->reciprocals, from, gp->size, gp->whitened);
  gp->whitened_rows = gp->size;
  return gp->whitened;
}

/** Kernel values of all points at the four candidates of a panel (d x 4), as a panel (n x 4). */
static void kernel_panel(const struct gaussian_process *gp, const double *candidates, double *panel) {
  long d = gp->dimension;
  __m128d scale = _mm_set1_pd(gp->scale);
  for (long i = 0; i < gp->size; i++) {
    __m128d lower = _mm_setzero_pd(), upper = lower;
    for (long j = 0; j < d; j++) {
      __m128d entry = _mm_set1_pd(gp->points[i * d + j]);
      __m128d low = _mm_mul_pd(_mm_sub_pd(_mm_load_pd(candidates + j * LANES), entry), scale);
      __m128d high = _mm_mul_pd(_mm_sub_pd(_mm_load_pd(candidates + j * LANES + 2), entry), scale);
      lower = _mm_add_pd(lower, _mm_mul_pd(low, low));
      upper = _mm_add_pd(upper, _mm_mul_pd(high, high));
    }
    double squares[LANES];
    _mm_storeu_pd(squares, lower), _mm_storeu_pd(squares + 2, upper);
    for (long lane = 0; lane < LANES; lane++) panel[i * LANES + lane] = exp(-0.5 * squares[lane]);
  }
}

void gp_moments(struct gaussian_process *gp, const double *xs, long k, double *means, double *variances) {
  long d = gp->dimension;
  const double *z = gp_whitened(gp);
  double *candidates = gp->panel, *panel = candidates + d * LANES;
  for (long start = 0; start < k; start += LANES) {
    long count = k - start < LANES ? k - start : LANES;
    pack_panel(xs + start * d, count, d, candidates);
    kernel_panel(gp, candidates, panel);
    solve_panel(gp->factor, gp->reciprocals, gp->size, panel);
    __m128d mean[2] = {_mm_setzero_pd(), _mm_setzero_pd()}, variance[2] = {_mm_set1_pd(1), _mm_set1_pd(1)};
    for (long i = 0; i < gp->size; i++) {
      __m128d lower = _mm_load_pd(panel + i * LANES), upper = _mm_load_pd(panel + i * LANES + 2), entry = _mm_set1_pd(z[i]);
      mean[0] = _mm_add_pd(mean[0], _mm_mul_pd(entry, lower)), mean[1] = _mm_add_pd(mean[1], _mm_mul_pd(entry, upper));
      variance[0] = _mm_sub_pd(variance[0], _mm_mul_pd(lower, lower));
      variance[1] = _mm_sub_pd(variance[1], _mm_mul_pd(upper, upper));
    }
    double lanes[2 * LANES];
    _mm_storeu_pd(lanes, mean[0]), _mm_storeu_pd(lanes + 2, mean[1]);
    _mm_storeu_pd(lanes + 4, variance[0]), _mm_storeu_pd(lanes + 6, variance[1]);
    for (long lane = 0; lane < count; lane++) {
      means[start + lane] = lanes[lane];
      variances[start + lane] = fmax(lanes[LANES + lane], 0);
    }
  }
}

struct process {
  struct gaussian_process gp;
  long n, k, turn;
  const double *settings, *points, *rewards, *candidates;
  double *means, *variances;
};

static void grow(struct process *state) {
  state->gp = gp_create(state->gp.dimension, state->settings[0], state->settings[1], state->n);
  for (long i = 0; i < state->n; i++) gp_add(&state->gp, state->points + i * state->gp.dimension);
}

/** Parameters d, n, k. Inputs: lengthscale, noise variance, n points, their rewards, k candidates. */
static void *start(const long *p, const double *inputs) {
  long d = p[0], n = p[1], k = p[2];
  struct process *state = (struct process *)doubles(sizeof *state / sizeof(double) + 1);
  *state = (struct process){.n = n, .k = k, .settings = inputs, .points = inputs + 2, .rewards = inputs + 2 + n * d};
  state->candidates = state->rewards + n;
  state->means = doubles(k);
  state->variances = doubles(k);
  state->gp.dimension = d;
  grow(state);
  for (long i = 0; i < n; i++) gp_reward(&state->gp, i, state->rewards[i]);
  return state;
}

static void score(void *at) {
  struct process *state = at;
  gp_moments(&state->gp, state->candidates, state->k, state->means, state->variances);
}

static long write_moments(const struct process *state, double *out) {
  memcpy(out, state->means, (size_t)state->k * sizeof(double));
  memcpy(out + state->k, state->variances, (size_t)state->k * sizeof(double));
  return 2 * state->k;
}

static long answer(void *at, double *out) {
  score(at);
  return write_moments(at, out);
}

static void append(void *at) {
  struct process *state = at;
  gp_release(&state->gp);
  grow(state);
}

/** Changes the reward of the first row to the next of all rewards. */
static void convert(void *at) {
  struct process *state = at;
  gp_reward(&state->gp, 0, state->rewards[++state->turn % state->n]);
  score(state);
}

static long answer_late(void *at, double *out) {
  convert(at);
  return write_moments(at, out);
}

const struct workload gp_append = {"gp-append", start, append, answer};
const struct workload gp_score = {"gp-score", start, score, answer};
const struct workload late_conversion = {"late-conversion", start, convert, answer_late};
