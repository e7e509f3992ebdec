"""Values of the straggler test, by SciPy and NumPy (versions in the output)."""
import json
import numpy as np
import scipy
from scipy import stats

rng = np.random.default_rng(17)
cases = []
for workers, blocks, ratio, alike in [(2, 8, 1.0, 0.0), (2, 20, 1.3, 0.0), (3, 20, 1.1, 0.5), (4, 12, 1.5, 0.8), (8, 20, 1.2, 0.3), (5, 20, 0.8, 0.6)]:
    noise = np.zeros((blocks, workers))
    for b in range(blocks):
        noise[b] = (alike * noise[b - 1] if b else 0) + rng.normal(0, 0.05, workers)
    times = 0.01 * np.exp(noise)
    times[:, 0] *= ratio
    y = np.log(times[:, 0] / np.median(times[:, 1:], axis=1))
    n = len(y)
    d = y - y.mean()
    r = min(max((d[:-1] * d[1:]).sum() / (d * d).sum(), 0.0), 0.9)
    effective = max(n * (1 - r) / (1 + r), 2.0)
    t = (y.mean() - np.log(1.1)) / (y.std(ddof=1) / np.sqrt(effective))
    p = stats.t.sf(t, effective - 1)
    if r == 0.0:  # then it is the plain test
        assert np.isclose(p, stats.ttest_1samp(y, np.log(1.1), alternative="greater").pvalue)
    cases.append({"times": times.tolist(), "slower_by": float(np.exp(y.mean()) - 1), "effective_blocks": float(effective), "p": float(p)})
print(json.dumps({"scipy": scipy.__version__, "numpy": np.__version__, "cases": cases}, indent=1))
