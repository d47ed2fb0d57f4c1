// Scoring under a ridge posterior, and OTFLinUCB on top of it (Vernade et al. 2020, Alg. 1, the released width).
#include <emmintrin.h>
#include <math.h>
#include <string.h>

#include "factor.h"
#include "workload.h"

struct ridge {
  long dimension;
  int fresh;
  double *factor, *reciprocals, *moment, *theta, *panel, *rotations;
};

static struct ridge ridge_create(long d, double lambda) {
  struct ridge model = {d, 0, doubles(d * (d + 1) / 2), doubles(d), doubles(d), doubles(d), doubles(d * LANES), doubles(2 * d)};
  for (long i = 0; i < d; i++) {
    factor_row(model.factor, i)[i] = sqrt(lambda);
    model.reciprocals[i] = 1 / sqrt(lambda);
  }
  return model;
}

static void ridge_append(struct ridge *model, const double *x) {
  update(model->factor, model->reciprocals, model->dimension, x, model->rotations);
  model->fresh = 0;
}

static void ridge_reward(struct ridge *model, const double *x, double reward) {
  for (long j = 0; j < model->dimension; j++) model->moment[j] += reward * x[j];
  model->fresh = 0;
}

/** Means <x, theta> and norms |x| in V^-1 of k candidates (row-major). */
static void score(struct ridge *model, const double *xs, long k, double *means, double *norms) {
  long d = model->dimension;
  if (!model->fresh) {
    memcpy(model->theta, model->moment, (size_t)d * sizeof(double));
    solve(model->factor, model->reciprocals, 0, d, model->theta);
    solve_transposed(model->factor, model->reciprocals, d, model->theta);
    model->fresh = 1;
  }
  for (long start = 0; start < k; start += LANES) {
    long count = k - start < LANES ? k - start : LANES;
    double *panel = model->panel;
    pack_panel(xs + start * d, count, d, panel);
    __m128d lower = _mm_setzero_pd(), upper = lower;
    for (long j = 0; j < d; j++) {
      __m128d entry = _mm_set1_pd(model->theta[j]);
      lower = _mm_add_pd(lower, _mm_mul_pd(entry, _mm_load_pd(panel + j * LANES)));
      upper = _mm_add_pd(upper, _mm_mul_pd(entry, _mm_load_pd(panel + j * LANES + 2)));
    }
    double lanes[LANES];
    _mm_storeu_pd(lanes, lower), _mm_storeu_pd(lanes + 2, upper);
    memcpy(means + start, lanes, (size_t)count * sizeof(double));
    solve_panel(model->factor, model->reciprocals, d, panel);
    lower = upper = _mm_setzero_pd();
    for (long j = 0; j < d; j++) {
      __m128d low = _mm_load_pd(panel + j * LANES), high = _mm_load_pd(panel + j * LANES + 2);
      lower = _mm_add_pd(lower, _mm_mul_pd(low, low));
      upper = _mm_add_pd(upper, _mm_mul_pd(high, high));
    }
    _mm_storeu_pd(lanes, _mm_sqrt_pd(lower)), _mm_storeu_pd(lanes + 2, _mm_sqrt_pd(upper));
    memcpy(norms + start, lanes, (size_t)count * sizeof(double));
  }
}

struct scoring {
  struct ridge model;
  long k;
  const double *candidates;
  double *means, *norms;
};

/** Parameters d, k, n. Inputs: features of n impressions, their rewards, k candidates. */
static void *scoring_start(const long *p, const double *inputs) {
  long d = p[0], k = p[1], n = p[2];
  struct scoring *state = (struct scoring *)doubles(sizeof *state / sizeof(double) + 1);
  *state = (struct scoring){ridge_create(d, 1), k, inputs + n * d + n, doubles(k), doubles(k)};
  for (long i = 0; i < n; i++) {
    ridge_append(&state->model, inputs + i * d);
    ridge_reward(&state->model, inputs + i * d, inputs[n * d + i]);
  }
  return state;
}

static void scoring_run(void *at) {
  struct scoring *state = at;
  score(&state->model, state->candidates, state->k, state->means, state->norms);
}

static long scoring_answer(void *at, double *out) {
  struct scoring *state = at;
  scoring_run(state);
  memcpy(out, state->means, (size_t)state->k * sizeof(double));
  memcpy(out + state->k, state->norms, (size_t)state->k * sizeof(double));
  return 2 * state->k;
}

const struct workload ridge_score = {"ridge-score", scoring_start, scoring_run, scoring_answer};

struct bandit {
  struct ridge model;
  long k, sets, rewards, window, delay, rounds, round;
  const double *candidates, *reward;
  double *means, *norms;
  /** Impressions that may still convert or whose window is open: features, and the squared norm when shown. */
  const double **shown;
  double *widths, open, score;
  long index;
};

/** Parameters d, k, sets, rewards, window, delay, rounds of the answer. Inputs: candidates by set, rewards in turn. */
static void *bandit_start(const long *p, const double *inputs) {
  struct bandit *state = (struct bandit *)doubles(sizeof *state / sizeof(double) + 1);
  *state = (struct bandit){.model = ridge_create(p[0], 1), .k = p[1], .sets = p[2], .rewards = p[3], .window = p[4], .delay = p[5],
                           .rounds = p[6], .candidates = inputs, .reward = inputs + p[2] * p[1] * p[0]};
  state->means = doubles(p[1]);
  state->norms = doubles(p[1]);
  state->shown = (const double **)doubles(p[4] + 1);
  state->widths = doubles(p[4] + 1);
  return state;
}

static void bandit_run(void *at) {
  struct bandit *state = at;
  long d = state->model.dimension, round = ++state->round, ring = state->window + 1;
  const double *xs = state->candidates + (round - 1) % state->sets * state->k * d;
  // This round reuses the place of the round whose window has just closed.
  if (round > ring) state->open -= state->widths[round % ring];
  score(&state->model, xs, state->k, state->means, state->norms);
  double alpha = sqrt(2 * log(10) + (double)d * log(1 + (double)round / (double)d) + 1) + state->open;
  state->score = -INFINITY;
  for (long c = 0; c < state->k; c++) {
    double value = state->means[c] + alpha * state->norms[c] * state->norms[c];
    if (value > state->score) state->score = value, state->index = c;
  }
  const double *x = xs + state->index * d;
  state->shown[round % ring] = x;
  state->open += state->widths[round % ring] = state->norms[state->index] * state->norms[state->index];
  ridge_append(&state->model, x);
  long due = round - state->delay;
  if (due > 0) ridge_reward(&state->model, state->shown[due % ring], state->reward[(due - 1) % state->rewards]);
}

static long bandit_answer(void *at, double *out) {
  struct bandit *state = at;
  for (long i = 0; i < state->rounds; i++) {
    bandit_run(state);
    out[2 * i] = (double)state->index;
    out[2 * i + 1] = state->score;
  }
  return 2 * state->rounds;
}

const struct workload otf_lin_ucb_round = {"otflinucb-round", bandit_start, bandit_run, bandit_answer};
