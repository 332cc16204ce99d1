"""Plain bettors: against a mean of answers, and on the better of two runs."""

from math import inf, log, log1p


def log_capital(x: list[float], mean: float) -> list[float]:
    """Bet on 100 probabilities p, alike, against a mean; each with its own capital."""
    capitals, out = [1.0] * 100, []
    for value in x:
        for k in range(100):
            p = (k + 0.5) / 100
            capitals[k] *= value * p / mean + (1 - value) * (1 - p) / (1 - mean)
        out.append(log(sum(capitals) / 100))
    return out


def log_gain(d: list[float], number: int, total: int, ceiling: float) -> float:
    """Bet on query `number` of `total` that differences d have a mean above 0."""
    before, left = d[:number], total - number
    even = -sum(before) / left
    if even + ceiling <= 1e-9:
        return inf
    seen = [*before, *[0.05 * ceiling] * 5]
    mean = sum(seen) / len(seen)
    squares = [v * v for v in before] + [0.01 * ceiling**2] * 5
    variance = sum(squares) / len(seen) - mean**2
    bet = (mean - even) / (variance + (mean - even) ** 2)
    bet = min(max(bet, 0.0), 0.99 / (even + ceiling))
    return log1p(bet * (d[number] - even))


def log_evidence(
    x: list[list[float]], total: int, best: int, ceiling: float
) -> list[list[float]]:
    """Return, after each query, the highest evidence so far against each run."""
    runs, looks = range(len(x)), []
    capital = {(r, b): 0.0 for r in runs for b in runs}
    chased, highest = [0.0 for _ in runs], [-inf for _ in runs]
    for t in range(len(x[0])):
        sums = [sum(row[:t]) for row in x]
        after = [sum(row[: t + 1]) for row in x]
        for b in runs:
            for r in runs:
                d = [x[r][q] - x[b][q] for q in range(t + 1)]
                capital[r, b] += log_gain(d, t, total, ceiling)
            rival = max((r for r in runs if r != b), key=lambda r: (sums[r], -r))
            d = [x[rival][q] - x[b][q] for q in range(t + 1)]
            chased[b] += log_gain(d, t, total, ceiling)
            if best == 1:
                now = chased[b]
            else:
                of = sorted(capital[r, b] for r in runs)
                now = of[-best] - log(best * (len(x) - best))
            lost = [
                after[r] - after[b] > ceiling * (total - t - 1) + 1e-9 for r in runs
            ]
            highest[b] = inf if sum(lost) >= best else max(highest[b], now)
        looks.append([*highest])
    return looks
