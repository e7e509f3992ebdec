"""Non-negative least squares by SciPy, for tests/nnls_oracle.rs.

Made with SciPy 1.17.1 and NumPy 2.4.6:  python nnls.py > nnls.json
"""

import json

import numpy
import scipy
from scipy.optimize import nnls

draws = numpy.random.Generator(numpy.random.PCG64(7))


def case(name, matrix, target):
    solution, norm = nnls(matrix, target)
    return {
        "name": name,
        "columns": matrix.T.tolist(),
        "target": target.tolist(),
        "coefficients": solution.tolist(),
        "residual_norm": float(norm),
    }


def ernest(machines):
    machines = numpy.asarray(machines, dtype=float)
    return numpy.column_stack(
        [numpy.ones_like(machines), 1 / machines, numpy.log(machines), machines]
    )


machines = numpy.repeat([1, 2, 4, 8, 16, 32], 3)
cases = [
    case(
        "ernest with all parts",
        ernest(machines),
        ernest(machines) @ [5, 300, 2, 0.4] * (1 + 0.01 * draws.standard_normal(18)),
    ),
    case(
        "ernest without communication",
        ernest(machines),
        ernest(machines) @ [5, 300, 0, 0] * (1 + 0.05 * draws.standard_normal(18)),
    ),
    case("nothing helps", ernest(machines), -numpy.ones(18)),
]
for rows, columns in [(6, 3), (20, 8), (50, 15), (10, 10)]:
    matrix = draws.standard_normal((rows, columns))
    cases.append(
        case(f"normal {rows} by {columns}", matrix, draws.standard_normal(rows))
    )
    matrix = draws.random((rows, columns))
    cases.append(case(f"uniform {rows} by {columns}", matrix, draws.random(rows)))

print(
    json.dumps(
        {"scipy": scipy.__version__, "numpy": numpy.__version__, "cases": cases},
        indent=1,
    )
)
