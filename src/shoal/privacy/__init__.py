"""Privacy models beyond k-anonymity: promises about the sensitive values of every group."""

from shoal.privacy.alpha_k import AlphaK
from shoal.privacy.base import PrivacyModel, parse_privacy
from shoal.privacy.histograms import Verdict, judge
from shoal.privacy.l_diversity import LDiversity
from shoal.privacy.t_closeness import TCloseness

__all__ = [
    "AlphaK",
    "LDiversity",
    "PrivacyModel",
    "TCloseness",
    "Verdict",
    "judge",
    "parse_privacy",
]
