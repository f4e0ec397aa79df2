"""Names of algorithms, measures and privacy models, and where their code lives.

A name maps to ``"module:Class"``; nothing is imported until it is asked for. Other packages add
names through the entry-point groups ``shoal.algorithms``, ``shoal.measures`` and
``shoal.privacy``; a plug-in cannot replace a built-in name.
"""

from __future__ import annotations

import importlib
from functools import lru_cache
from typing import Any, Literal

from shoal.errors import OptionError, did_you_mean
from shoal.messages import Message

Family = Literal["algorithms", "measures", "privacy"]

_BUILT_IN: dict[Family, dict[str, str]] = {
    "algorithms": {
        "auto": "shoal.algorithm.auto:Auto",
        "k-member": "shoal.algorithm.k_member:KMember",
        "sequential": "shoal.algorithm.sequential:Sequential",
        "agglomerative": "shoal.algorithm.agglomerative:Agglomerative",
        "mondrian": "shoal.algorithm.mondrian:Mondrian",
        "hilbert": "shoal.algorithm.hilbert:Hilbert",
        "incognito": "shoal.algorithm.incognito:Incognito",
        "oka": "shoal.algorithm.oka:OKA",
        "kaca": "shoal.algorithm.kaca:KACA",
        "loukides-shao": "shoal.algorithm.loukides_shao:LoukidesShao",
        "chiu-tsai": "shoal.algorithm.chiu_tsai:ChiuTsai",
        "mdav": "shoal.algorithm.mdav:MDAV",
        "v-mdav": "shoal.algorithm.v_mdav:VMDAV",
        "mhm": "shoal.algorithm.mhm:MHM",
        "tfrp": "shoal.algorithm.tfrp:TFRP",
        "top-down-greedy": "shoal.algorithm.top_down_greedy:TopDownGreedy",
        "r-gather": "shoal.algorithm.r_gather:RGather",
        "forest": "shoal.algorithm.forest:Forest",
        "systematic": "shoal.algorithm.systematic:Systematic",
        "datafly": "shoal.algorithm.datafly:Datafly",
        "top-down-specialization": "shoal.algorithm.top_down:TopDownSpecialization",
    },
    "measures": {
        "ncp": "shoal.measure.loss:NCP",
        "il": "shoal.measure.loss:TotalIL",
        "lm": "shoal.measure.loss:LM",
        "tree": "shoal.measure.loss:Tree",
        "whd": "shoal.measure.whd:WHD",
        "whd-height": "shoal.measure.whd:WHDHeight",
        "suppression": "shoal.measure.loss:Suppression",
        "sse": "shoal.measure.sse:SquaredError",
        "mi": "shoal.measure.mi:MI",
        "pmi": "shoal.measure.mi:PMI",
        "pmi-l2": "shoal.measure.mi:PMIL2",
        "pmi-max": "shoal.measure.mi:PMIMax",
        "wmi": "shoal.measure.mi:WeightedMI",
        "am": "shoal.measure.group_sizes:Ambiguity",
        "dm": "shoal.measure.group_sizes:Discernibility",
        "cm": "shoal.measure.group_sizes:Classification",
        "kl": "shoal.measure.kl:KullbackLeibler",
        "modification-rate": "shoal.measure.loss:ModificationRate",
        "distortion-ratio": "shoal.measure.whd:DistortionRatio",
        "entropy-diversity": "shoal.measure.group_sizes:EntropyDiversity",
        "average-class-size": "shoal.measure.group_sizes:AverageClassSize",
        "c-avg": "shoal.measure.group_sizes:NormalisedClassSize",
        "diameters": "shoal.measure.diameters:Diameters",
    },
    "privacy": {
        "l-diversity": "shoal.privacy.l_diversity:LDiversity",
        "t-closeness": "shoal.privacy.t_closeness:TCloseness",
        "alpha-k": "shoal.privacy.alpha_k:AlphaK",
        "beta-likeness": "shoal.privacy.relative_frequency:BetaLikeness",
        "delta-disclosure": "shoal.privacy.relative_frequency:DeltaDisclosure",
        "ke-anonymity": "shoal.privacy.ke_anonymity:KEAnonymity",
        "k-map": "shoal.privacy.k_map:KMap",
        "delta-presence": "shoal.privacy.delta_presence:DeltaPresence",
        "population-risk": "shoal.privacy.population_risk:PopulationRisk",
    },
}
_SINGULAR = {
    "algorithms": Message("algorithm"),
    "measures": Message("measure"),
    "privacy": Message("privacy model"),
}


@lru_cache(maxsize=3)
def _table(family: Family) -> dict[str, str]:
    # importlib.metadata is slow to import and only needed when names are looked up
    from importlib.metadata import entry_points

    table = {point.name: point.value for point in entry_points(group=f"shoal.{family}")}
    return {**_BUILT_IN[family], **{n: v for n, v in table.items() if n not in _BUILT_IN[family]}}


def built_in(family: Family) -> tuple[str, ...]:
    """Return the names of a family that come with this package."""
    return tuple(_BUILT_IN[family])


def names(family: Family) -> tuple[str, ...]:
    """Return all names of a family, built-in ones first."""
    return tuple(_table(family))


def load(family: Family, name: str) -> Any:
    """Return the class behind a name.

    Raises:
        OptionError: no such name; says which one was probably meant.
    """
    table = _BUILT_IN[family]
    if not isinstance(name, str) or name not in table:
        table = _table(family)
    if not isinstance(name, str) or name not in table:
        hint = did_you_mean(str(name), table)
        raise OptionError(
            "Unknown {singular} {name!r}.{hint} Known: {table}.",
            singular=_SINGULAR[family],
            name=name,
            hint=hint,
            table=", ".join(sorted(table)),
        )
    module, _, attribute = table[name].partition(":")
    return getattr(importlib.import_module(module), attribute)


def algorithms() -> tuple[str, ...]:
    """Return the names of all algorithms."""
    return names("algorithms")


def measures() -> tuple[str, ...]:
    """Return the names of all measures; those with ``can_minimise`` work as ``measure=``."""
    return names("measures")


def privacy_models() -> tuple[str, ...]:
    """Return the names of all privacy models beyond k-anonymity."""
    return names("privacy")
