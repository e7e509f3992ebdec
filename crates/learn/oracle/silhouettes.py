"""Silhouettes and the number of clusters as scikit-learn has them.

Writes silhouettes.json next to this file. Made with Python 3.11.7, scikit-learn
1.9.1 and NumPy 2.4.6. The seed fixes the data, which are in the JSON as well.
"""

import json
import pathlib
import sys

import numpy as np
import sklearn
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_samples, silhouette_score

HERE = pathlib.Path(__file__).parent
rng = np.random.default_rng(4)

SETS = {
    "three": np.vstack([rng.normal(c, 0.3, (12, 3)) for c in ((0, 0, 0), (3, 0, 1), (0, 4, 2))]),
    "two and one alone": np.vstack([rng.normal(0, 0.2, (9, 2)), rng.normal(2, 0.2, (9, 2)), [[9.0, -9.0]]]),
    "five": np.vstack([rng.normal(c, 0.25, (10, 2)) for c in ((0, 0), (3, 0), (0, 3), (3, 3), (6, 1))]),
    "none": rng.normal(0, 1, (40, 4)),
}

cases = []
for name, x in SETS.items():
    scores = {}
    for k in range(2, 9):
        labels = KMeans(k, n_init=50, random_state=0).fit_predict(x)
        scores[k] = float(silhouette_score(x, labels))
    best = max(scores, key=lambda k: (scores[k], -k))
    labels = KMeans(best, n_init=50, random_state=0).fit_predict(x)
    cases.append({
        "name": name,
        "rows": x.tolist(),
        "labels": labels.tolist(),
        "silhouettes": silhouette_samples(x, labels).tolist(),
        "best": best,
        "score": scores[best],
    })
versions = {"python": sys.version.split()[0], "numpy": np.__version__, "scikit-learn": sklearn.__version__}
(HERE / "silhouettes.json").write_text(json.dumps({"versions": versions, "cases": cases}) + "\n")
