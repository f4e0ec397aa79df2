"""Privacy models beyond k-anonymity: promises about sensitive values and whole releases."""

from shoal.privacy.alpha_k import AlphaK
from shoal.privacy.base import PrivacyModel, parse_privacy
from shoal.privacy.beta_likeness import BetaLikeness
from shoal.privacy.delta_disclosure import DeltaDisclosure
from shoal.privacy.delta_presence import DeltaPresence
from shoal.privacy.histograms import Verdict, judge
from shoal.privacy.k_map import KMap
from shoal.privacy.ke_anonymity import KEAnonymity
from shoal.privacy.l_diversity import LDiversity
from shoal.privacy.population_risk import PopulationRisk
from shoal.privacy.t_closeness import TCloseness

__all__ = [
    "AlphaK",
    "BetaLikeness",
    "DeltaDisclosure",
    "DeltaPresence",
    "KEAnonymity",
    "KMap",
    "LDiversity",
    "PopulationRisk",
    "PrivacyModel",
    "TCloseness",
    "Verdict",
    "judge",
    "parse_privacy",
]
