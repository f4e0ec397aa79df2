"""Numbers that Goldberger and Tassa print, and a short way to see ours beside them.

Run: python -m benchmarks.papers.published_numbers
Prints Table 2 of the stored results; `python -m benchmarks.papers goldberger-tassa` measures.
"""

from __future__ import annotations

from typing import Any

from benchmarks.common import raw_results
from benchmarks.kept import stored

TABLE_2 = {10: 0.302, 20: 0.340, 30: 0.364, 40: 0.380, 50: 0.394, 75: 0.419, 100: 0.439}
"""Average LM of sequential clustering; the row printed as k = 60 is taken for 75."""
TABLE_2_MINIMUM = {10: 0.298, 20: 0.338, 30: 0.361, 40: 0.378, 50: 0.390, 75: 0.416, 100: 0.433}
TABLE_2_DEVIATION = {10: 0.03, 20: 0.03, 30: 0.03, 40: 0.03, 50: 0.03, 75: 0.04, 100: 0.04}
TABLE_3 = {
    50: {0.0: 0.07, 0.25: 0.14, 0.5: 0.31, 0.75: 0.51, 1.0: 0.54},
    75: {0.0: 0.08, 0.25: 0.14, 0.5: 0.32, 0.75: 0.51, 1.0: 0.56},
    100: {0.0: 0.08, 0.25: 0.15, 0.5: 0.34, 0.75: 0.54, 1.0: 0.58},
}
"""Average entropy diversity of the clusters, in bits, by k and the weight w of MI."""
AT_50 = {"hilbert": 0.645, "mondrian": 0.735}
DIVERSITY = {"salary": 1.3295, "education": 3.06}


def main() -> None:
    """Print Table 2 of the stored results."""
    content: dict[str, Any] | None = stored(raw_results("papers") / "goldberger-tassa.json.gz")
    if content is None:
        raise SystemExit("Not measured yet: run `python -m benchmarks.papers goldberger-tassa`.")
    for k, row in content["results"]["table_2"].items():
        published = TABLE_2[int(k)]
        print(
            f"sequential k={k:>3s}  published {published:.3f}  ours {row['mean']:.4f} "
            f"(difference {row['mean'] - published:+.4f}, mean of {row['runs']} runs)"
        )


if __name__ == "__main__":
    main()
