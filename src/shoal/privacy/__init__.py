"""Privacy models beyond k-anonymity: promises about the sensitive values of every group."""

from shoal.privacy.alpha_k import AlphaK
from shoal.privacy.base import PrivacyModel, parse_privacy
from shoal.privacy.beta_likeness import BetaLikeness
from shoal.privacy.delta_disclosure import DeltaDisclosure
from shoal.privacy.histograms import Verdict, judge
from shoal.privacy.l_diversity import LDiversity
from shoal.privacy.t_closeness import TCloseness

__all__ = [
    "AlphaK",
    "BetaLikeness",
    "DeltaDisclosure",
    "LDiversity",
    "PrivacyModel",
    "TCloseness",
    "Verdict",
    "judge",
    "parse_privacy",
]
