"""Shoal: publish tables about people so that nobody can be singled out.

Names are imported when they are first used, so that ``import shoal`` stays fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal import datasets as datasets
    from shoal.api import anonymize, anonymize_tables, refine, score, verify, verify_tables
    from shoal.archive.release_file import KeptRelease, load_release
    from shoal.errors import (
        AlgorithmError,
        DataError,
        DriftError,
        HierarchyError,
        JobError,
        OptionError,
        PromiseError,
        RoleError,
        ShoalError,
        ShoalWarning,
    )
    from shoal.hierarchy import (
        Taxonomy,
        date_hierarchy,
        frequency_hierarchy,
        interval_hierarchy,
        prefix_hierarchy,
    )
    from shoal.io.keys import keyed_sha256, make_key
    from shoal.io.read import read_table
    from shoal.io.write import write_table
    from shoal.life.apply import Applied, apply
    from shoal.measure.scores import Scores
    from shoal.privacy.alpha_k import AlphaK
    from shoal.privacy.delta_presence import DeltaPresence
    from shoal.privacy.k_map import KMap
    from shoal.privacy.ke_anonymity import KEAnonymity
    from shoal.privacy.l_diversity import LDiversity
    from shoal.privacy.population_risk import PopulationRisk
    from shoal.privacy.relative_frequency import BetaLikeness, DeltaDisclosure
    from shoal.privacy.t_closeness import TCloseness
    from shoal.profile.suggest import Suggestion, suggest_job
    from shoal.publish.recode import Style
    from shoal.publish.verify import Verification
    from shoal.publish.verify_tables import TablesVerification
    from shoal.registry import algorithms, measures, privacy_models
    from shoal.release import Release
    from shoal.release.tables import TablesRelease
    from shoal.report.certificate import sign
    from shoal.report.verify_certificate import Certified, verify_certificate
    from shoal.run.drift import ColumnChange, Drift, accept_drift, drift
    from shoal.run.job import JobResult, run_job
    from shoal.run.tables_job import TablesJobResult, run_tables_job
    from shoal.search.bound import lower_bound
    from shoal.settings.files import Input, Output
    from shoal.settings.job import Job
    from shoal.settings.job_file import read_job, write_job
    from shoal.study.audit import audit
    from shoal.study.audit.attack_context import Audit, Finding
    from shoal.study.compare import compare
    from shoal.study.explain import Explanation, explain
    from shoal.study.frontier import Comparison
    from shoal.study.read_release import read_release
    from shoal.study.tabulate import CountTable, tabulate
    from shoal.study.utility import Utility, utility
    from shoal.table.schema import JobColumn

__version__ = "0.1.0"

_ROOMS = ("datasets", "sklearn")
_HOMES = {
    "AlgorithmError": "errors",
    "AlphaK": "privacy.alpha_k",
    "Applied": "life.apply",
    "Certified": "report.verify_certificate",
    "ColumnChange": "run.drift",
    "CountTable": "study.tabulate",
    "Audit": "study.audit.attack_context",
    "BetaLikeness": "privacy.relative_frequency",
    "Comparison": "study.compare",
    "DataError": "errors",
    "DeltaDisclosure": "privacy.relative_frequency",
    "DeltaPresence": "privacy.delta_presence",
    "Drift": "run.drift",
    "DriftError": "errors",
    "Explanation": "study.explain",
    "Finding": "study.audit.attack_context",
    "HierarchyError": "errors",
    "Input": "settings.files",
    "Job": "settings.job",
    "JobColumn": "table.schema",
    "JobError": "errors",
    "JobResult": "run.job",
    "KEAnonymity": "privacy.ke_anonymity",
    "KMap": "privacy.k_map",
    "KeptRelease": "archive.release_file",
    "LDiversity": "privacy.l_diversity",
    "OptionError": "errors",
    "Output": "settings.files",
    "PopulationRisk": "privacy.population_risk",
    "PromiseError": "errors",
    "Release": "release",
    "RoleError": "errors",
    "Scores": "measure.scores",
    "ShoalError": "errors",
    "ShoalWarning": "errors",
    "Style": "publish.recode",
    "Suggestion": "profile.suggest",
    "TCloseness": "privacy.t_closeness",
    "TablesJobResult": "run.tables_job",
    "TablesRelease": "release.tables",
    "TablesVerification": "publish.verify_tables",
    "Taxonomy": "hierarchy",
    "Utility": "study.utility",
    "Verification": "publish.verify",
    "accept_drift": "run.drift",
    "algorithms": "registry",
    "anonymize": "api",
    "anonymize_tables": "api",
    "apply": "life.apply",
    "audit": "study.audit",
    "compare": "study.compare",
    "date_hierarchy": "hierarchy",
    "drift": "run.drift",
    "explain": "study.explain",
    "frequency_hierarchy": "hierarchy",
    "interval_hierarchy": "hierarchy",
    "keyed_sha256": "io.keys",
    "load_release": "archive.release_file",
    "lower_bound": "search.bound",
    "make_key": "io.keys",
    "measures": "registry",
    "prefix_hierarchy": "hierarchy",
    "privacy_models": "registry",
    "read_job": "settings.job_file",
    "read_release": "study.read_release",
    "read_table": "io.read",
    "refine": "api",
    "run_job": "run.job",
    "run_tables_job": "run.tables_job",
    "score": "api",
    "sign": "report.certificate",
    "suggest_job": "profile.suggest",
    "tabulate": "study.tabulate",
    "utility": "study.utility",
    "verify": "api",
    "verify_tables": "api",
    "verify_certificate": "report.verify_certificate",
    "write_job": "settings.job_file",
    "write_table": "io.write",
}

__all__ = [
    "AlgorithmError",
    "AlphaK",
    "Applied",
    "Audit",
    "BetaLikeness",
    "Certified",
    "ColumnChange",
    "Comparison",
    "CountTable",
    "DataError",
    "DeltaDisclosure",
    "DeltaPresence",
    "Drift",
    "DriftError",
    "Explanation",
    "Finding",
    "HierarchyError",
    "Input",
    "Job",
    "JobColumn",
    "JobError",
    "JobResult",
    "KEAnonymity",
    "KMap",
    "KeptRelease",
    "LDiversity",
    "OptionError",
    "Output",
    "PopulationRisk",
    "PromiseError",
    "Release",
    "RoleError",
    "Scores",
    "ShoalError",
    "ShoalWarning",
    "Style",
    "Suggestion",
    "TCloseness",
    "TablesJobResult",
    "TablesRelease",
    "TablesVerification",
    "Taxonomy",
    "Utility",
    "Verification",
    "accept_drift",
    "algorithms",
    "anonymize",
    "anonymize_tables",
    "apply",
    "audit",
    "compare",
    "datasets",
    "date_hierarchy",
    "drift",
    "explain",
    "frequency_hierarchy",
    "interval_hierarchy",
    "keyed_sha256",
    "load_release",
    "lower_bound",
    "make_key",
    "measures",
    "prefix_hierarchy",
    "privacy_models",
    "read_job",
    "read_release",
    "read_table",
    "refine",
    "run_job",
    "run_tables_job",
    "score",
    "sign",
    "suggest_job",
    "tabulate",
    "utility",
    "verify",
    "verify_certificate",
    "verify_tables",
    "write_job",
    "write_table",
]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"shoal.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'shoal' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"shoal.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
