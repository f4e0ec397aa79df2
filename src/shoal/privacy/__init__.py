"""Privacy models beyond k-anonymity: promises about sensitive values and whole releases.

Each model is a module of its own, found through `shoal.registry`.
"""

from shoal.privacy.base import PrivacyModel, Verdict, judge, parse_privacy

__all__ = ["PrivacyModel", "Verdict", "judge", "parse_privacy"]
