"""Statistics: intervals, tests, plans and evidence, each a pure function that states what it rests on.

The case, or its cluster, is the unit: values are means over the repetitions of a case. Every answer carries its method,
level, n, assumptions and seed. No procedure ever stands in for another in silence; one that has two ways says in
`method` which it took. What is not known is None, never 0. See docs/reference/statistics.md for when to use which.
"""

from quintain.statistics._agreement import cohen_kappa, krippendorff_alpha, rogan_gladen, sensitivity_specificity
from quintain.statistics._anytime import (
    EProcess,
    SequentialDecision,
    e_process,
    e_value_half,
    normal_mixture_radius,
    observe,
    sequential_decision,
    start,
    stitched_radius,
    tightest_rho,
)
from quintain.statistics._attempts import pass_at_k, pass_hat_k
from quintain.statistics._betting import betting, betting_paired, betting_sequence, hoeffding
from quintain.statistics._clusters import Kind, cluster_means, clustered
from quintain.statistics._counts import holm, mcnemar, simultaneous_level
from quintain.statistics._distributions import beta_cdf, beta_quantile, student_cdf, student_quantile
from quintain.statistics._means import bca_bootstrap, log_ratio, t_interval
from quintain.statistics._planning import (
    best_reachable_lower_bound,
    best_reachable_upper_bound,
    cases_for_effect,
    detectable_effect,
    smallest_p,
)
from quintain.statistics._proportions import clopper_pearson, jeffreys, wilson
from quintain.statistics._sign_flip import paired_interval, sign_flip

__all__ = [
    "EProcess",
    "Kind",
    "SequentialDecision",
    "bca_bootstrap",
    "best_reachable_lower_bound",
    "best_reachable_upper_bound",
    "beta_cdf",
    "beta_quantile",
    "betting",
    "betting_paired",
    "betting_sequence",
    "cases_for_effect",
    "clopper_pearson",
    "cluster_means",
    "clustered",
    "cohen_kappa",
    "detectable_effect",
    "e_process",
    "e_value_half",
    "hoeffding",
    "holm",
    "jeffreys",
    "krippendorff_alpha",
    "log_ratio",
    "mcnemar",
    "normal_mixture_radius",
    "observe",
    "paired_interval",
    "pass_at_k",
    "pass_hat_k",
    "rogan_gladen",
    "sensitivity_specificity",
    "sequential_decision",
    "sign_flip",
    "simultaneous_level",
    "smallest_p",
    "start",
    "stitched_radius",
    "student_cdf",
    "student_quantile",
    "t_interval",
    "tightest_rho",
    "wilson",
]
