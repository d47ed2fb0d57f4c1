"""Writes cases/delay_linear.json: predictions of the delay-aware linear policies, in 50-digit arithmetic from lists of all impressions.

It follows the comments of src/model (maturing-ridge, shrinkage, unmatured-sums, delays, cohorts) and shares no code with them.
Run: python3 test/golden/delay_linear.py > test/golden/cases/delay_linear.json (Python 3, mpmath).
"""
import json
import math
import random
from mpmath import mp, mpf, matrix, lu_solve, inverse, sqrt, exp, log

mp.dps = 50
FAR = mpf("13.8")


def cohort(index, newest, same):
    """The dyadic interval of an index. It doubles while the doubled interval ends at least `same` of its lengths ago."""
    length = 1
    while True:
        start = index // (2 * length) * (2 * length)
        if newest - start - 2 * length < same * length:
            return index // length * length, length
        length *= 2


def bin_ends(longest):
    ends, at, width = [], 0, 1
    while at <= longest:
        for _ in range(16 if width == 1 else 8):
            at += width
            ends.append(at)
            if at > longest:
                break
        width *= 2
    return ends


def logistic(x):
    return 1 / (1 + exp(-x))


class Model:
    def __init__(self, d, window, ridge, reward_variance, shrinkage, half_life, bernoulli):
        self.d, self.window, self.least, self.rv = d, window, mpf(ridge), mpf(reward_variance)
        self.evidence, self.half_life, self.bernoulli = shrinkage == "evidence", half_life, bernoulli
        if "ms" in window:
            self.resolution, self.unit, self.span = mpf(window["ms"]) / 16384, mpf(window["ms"]) / 64, window["ms"]
        else:
            self.resolution, self.unit, self.span = mpf(1), mpf(max(1, window["rounds"] // 64)), window["rounds"]
        self.ends = bin_ends(self.span / self.resolution)
        self.items, self.now = [], mpf(0)
        self.ridge, self.due = self.least, 2
        self.anchor, self.anchor_due = ([mpf(0)] * d, mpf(0)), 0

    def index(self, time, unit):
        return int(mp.floor(time / unit))

    def fine(self, item):
        return cohort(self.index(item["time"], self.unit), self.index(self.now, self.unit), 4)

    def coarse(self, item):
        unit = 16 * self.unit
        return cohort(self.index(item["time"], unit), self.index(self.now, unit), 1)

    def show(self, x, time):
        x, time, n = [mpf(each) for each in x], mpf(time), len(self.items)
        if self.bernoulli and n >= self.anchor_due:
            self.anchor = (self.parameter(), self.level())
            self.anchor_due = math.ceil(mpf(n + 1) * mpf("1.05"))
        theta, start = self.anchor
        e = min(max(start + sum(a * b for a, b in zip(x, theta)), -FAR), FAR)
        p = logistic(e)
        info = p * (1 - p)
        if abs(e - start) >= mpf("1e-6"):
            info = max(info, (p - logistic(start)) / (e - start))
        for item in self.items:
            for name, unit, of in (("fine_passed", self.unit, self.fine), ("coarse_passed", 16 * self.unit, self.coarse)):
                start, length = of(item)
                if (self.index(time, unit) - start - length) * unit > self.span:
                    item[name] = True
        self.now = max(self.now, time)
        root = sqrt(info) if self.bernoulli else mpf(1)
        self.items.append({
            "x": x, "time": time, "delay": None, "reward": mpf(0), "weight": mpf(1), "fine_passed": False, "coarse_passed": False,
            "weighted": [root * each for each in x], "offset": info * e - p, "info": info if self.bernoulli else mpf(1),
        })
        if self.evidence and n + 1 >= self.due:
            self.ridge = self.chosen()
            by = mpf(n + 1) * mpf("1.2")
            self.due = math.ceil(by if self.half_life is None else min(by, n + 1 + mpf("0.2") * self.half_life))
        if self.half_life and (n + 1) % self.half_life == 0:
            for item in self.items:
                item["weight"] /= 2

    def convert(self, place, reward, delay):
        item = self.items[place]
        if item["delay"] is None:
            item["delay"] = mpf(delay) if delay is not None else max(self.now - item["time"], mpf(0))
        item["reward"] = mpf(reward)

    def matured(self):
        """The expected share of arrived conversions of each impression, at the mean age of its fine cohort."""
        groups = {}
        for i, item in enumerate(self.items):
            groups.setdefault("passed" if item["fine_passed"] else self.fine(item), []).append(i)
        age = {}
        for key, members in groups.items():
            mean = mp.inf if key == "passed" else sum(self.now - self.items[i]["time"] for i in members) / len(members)
            age.update({i: mean for i in members})
        seen = [(next((b for b, end in enumerate(self.ends) if end > item["delay"] / self.resolution), len(self.ends) - 1), age[i])
                for i, item in enumerate(self.items) if item["delay"] is not None]
        law, chance = [None] * len(self.ends), mpf(1)
        for b in reversed(range(len(self.ends))):
            law[b] = chance
            old = [bin for bin, a in seen if bin <= b and a + self.resolution >= self.ends[b] * self.resolution]
            chance *= 1 - mpf(old.count(b)) / (len(old) + 1)
        shares = []
        for i in range(len(self.items)):
            steps = mp.inf if age[i] == mp.inf else max(age[i], mpf(0)) / self.resolution + 1
            if steps >= self.ends[-1]:
                shares.append(mpf(1))
                continue
            b = next(b for b, end in enumerate(self.ends) if end > steps)
            left, before = (self.ends[b - 1], law[b - 1]) if b > 0 else (0, mpf(0))
            shares.append(before + (law[b] - before) * (steps - left) / (self.ends[b] - left))
        return shares

    def sums(self):
        fine, groups = self.matured(), {}
        for i, item in enumerate(self.items):
            groups.setdefault("passed" if item["coarse_passed"] else self.coarse(item), []).append(i)
        weight = lambda members: mp.fsum(self.items[j]["weight"] for j in members)
        share = {i: mpf(1) if key == "passed" else mp.fsum(self.items[j]["weight"] * fine[j] for j in members) / weight(members)
                 for key, members in groups.items() for i in members}
        d, w = self.d, [share[i] * item["weight"] for i, item in enumerate(self.items)]
        gram, moment, level = matrix(d, d), matrix(d, 1), matrix(d, 1)
        for i, item in enumerate(self.items):
            for a in range(d):
                moment[a] += item["weight"] * item["reward"] * item["x"][a]
                level[a] += w[i] * item["info"] * item["x"][a]
                if self.bernoulli:
                    moment[a] += w[i] * item["offset"] * item["x"][a]
                for b in range(d):
                    gram[a, b] += w[i] * item["weighted"][a] * item["weighted"][b]
        count = mp.fsum(w)
        rewards = mp.fsum(item["weight"] * item["reward"] for item in self.items)
        squares = mp.fsum(item["weight"] * item["reward"] ** 2 for item in self.items)
        if self.bernoulli:
            # The log-odds are those of the mean rate, and half a unit for the unknown, plus <x, theta>.
            rate = (max(rewards, mpf(0)) + mpf("0.5")) / (max(count, rewards) + 10)
            self.start = log(rate / (1 - rate)) + mpf("0.5")
            moment -= self.start * level
            level = matrix(d, 1)
        return gram, moment, level, count, rewards, squares

    def level(self):
        self.sums()
        return self.start if self.bernoulli else mpf(0)

    def penalised(self, ridge, sums):
        gram, _, level = sums[:3]
        size = (level.T * level)[0]
        identity = mp.eye(self.d)
        beside = identity - level * level.T / size if size > 0 else identity if self.bernoulli else mp.zeros(self.d)
        return gram + self.least * identity + (ridge - self.least) * beside

    def chosen(self):
        sums = self.sums()
        gram, moment, level, count, _, squares = sums
        size = (level.T * level)[0]
        if size == 0 and not self.bernoulli:
            return self.ridge
        e = level / sqrt(size) if size > 0 else level
        most = max(self.least, mpf("0.3") * sum(gram[i, i] for i in range(self.d)) / self.d)
        rv = mpf(1) if self.bernoulli else self.rv
        ridge = self.ridge
        for _ in range(3):
            a = self.penalised(ridge, sums)
            inv = inverse(a)
            mean = inv * moment
            # Number of directions, besides the level, that the data determine.
            freedom = self.d - (0 if self.bernoulli else 1) - ridge * (sum(inv[i, i] for i in range(self.d)) - (e.T * inv * e)[0])
            beside = mean - (e.T * mean)[0] * e
            rest = (beside.T * beside)[0]
            errors = squares - 2 * (mean.T * moment)[0] + (mean.T * gram * mean)[0]
            noise = mpf(1) if self.bernoulli else (max(errors, mpf(0)) + 10 * rv) / (max(count - freedom, mpf(0)) + 10)
            ridge = min(max((freedom + mpf("0.03")) * noise / (rest + mpf("0.03") * rv), self.least), most)
        return ridge

    def parameter(self):
        sums = self.sums()
        return list(lu_solve(self.penalised(self.ridge, sums), sums[1]))

    def predict(self, points):
        theta = self.parameter()
        _, _, _, count, rewards, squares = self.sums()
        v = self.least * mp.eye(self.d)
        for item in self.items:
            x = matrix(item["weighted"])
            v += item["weight"] * x * x.T
        errors = max(squares - rewards ** 2 / count, mpf(0)) if count > 0 else mpf(0)
        spread = mpf(1) if self.bernoulli else sqrt((errors + 10 * self.rv) / (count + 10))
        mean, variance = [], []
        for point in points:
            x = matrix(point)
            level = self.level() + sum(a * b for a, b in zip(point, theta))
            own = spread ** 2 * (x.T * lu_solve(v, x))[0]
            rate = logistic(level)
            mean.append(float(rate if self.bernoulli else level))
            variance.append(float(own * (rate * (1 - rate)) ** 2 if self.bernoulli else own))
        return {"mean": mean, "variance": variance}


def case(label, options, window, rounds, seed, told=False):
    draw = random.Random(seed)
    d = options["dimension"]
    model = Model(d, window, options.get("ridge", "0.1"), options.get("rewardVariance", "0.25"), options.get("shrinkage", "evidence"),
                  (options.get("forgetting") or {}).get("halfLife"), options.get("rewards") == "bernoulli")
    points = [[1] + [draw.randrange(-2048, 2049) / 4096 for _ in range(d - 1)] for _ in range(3)]
    step = window["ms"] / 48 if "ms" in window else 1
    steps, due = [], {}
    for round in range(1, rounds + 1):
        for place, reward, delay in due.get(round, []):
            model.convert(place, reward, delay)
            steps.append({"convert": place, "reward": reward, **({"delay": delay} if told else {})})
        x = [1] + [draw.randrange(-2048, 2049) / 4096 for _ in range(d - 1)]
        model.show(x, round * step)
        steps.append({"show": x, "round": round, "now": round * step})
        reward = draw.randrange(1, 4097) / 4096
        after = 1 + int(window.get("rounds", 48) / 2 * draw.random() ** 2)
        if draw.random() < 0.3 + 0.5 * x[1]:
            due.setdefault(round + after, []).append((round - 1, reward, step * after - step / 8 if told else None))
        if round % 16 == 0:
            steps.append({"expect": model.predict(points)})
    return {"label": label, "options": {k: float(v) if k in ("ridge", "rewardVariance") else v for k, v in options.items()},
            "window": window, "points": points, "steps": steps}


CASES = [
    case("by evidence", {"dimension": 4}, {"rounds": 48}, 96, 1),
    case("by evidence, small noise", {"dimension": 4, "ridge": "0.5", "rewardVariance": "0.01"}, {"rounds": 48}, 64, 2),
    case("by a fixed ridge", {"dimension": 3, "shrinkage": "fixed"}, {"rounds": 40}, 96, 3),
    case("in ms, with delays as told", {"dimension": 3}, {"ms": 196608}, 96, 4, True),
    case("forgetting", {"dimension": 3, "forgetting": {"halfLife": 20}}, {"rounds": 48}, 96, 5),
    case("of log-odds by evidence", {"dimension": 3, "rewards": "bernoulli", "shrinkage": "evidence"}, {"rounds": 48}, 96, 6),
    case("of log-odds, forgetting", {"dimension": 3, "rewards": "bernoulli", "shrinkage": "fixed", "forgetting": {"halfLife": 32}},
         {"rounds": 48}, 96, 7),
]
WHAT = ("predictions of delay-lin-ucb and delay-lin-ts after a history of impressions (show, in order) and conversions (convert: the "
        "place of an impression; delay: as told, otherwise until the latest impression was made), 50 digits rounded to double; "
        "written by delay_linear.py")
print(json.dumps({"what": WHAT, "delay_linear": CASES}, separators=(",", ":")))
