"""Privacy models on their way to workers: those of plug-ins bring code that may not be there."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

from shoal.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shoal.privacy import PrivacyModel

__all__ = ["Packed", "packed_models", "unpacked_models"]

Packed = tuple[tuple[str, bytes], ...]
"""Names of models, and the models as bytes."""


def packed_models(models: Sequence[PrivacyModel]) -> Packed:
    """Return models as bytes; a class of a notebook goes along, one of a package by its name.

    Raises:
        OptionError: a model holds something that cannot be sent.
    """
    from pyspark import cloudpickle

    found = []
    for model in models:
        try:
            found.append((model.name, cloudpickle.dumps(model)))
        except Exception as error:  # noqa: BLE001 - whatever its fields raise
            raise OptionError(
                f"The privacy model {model.name!r} cannot be sent to workers "
                f"({type(error).__name__}); its options must be plain values."
            ) from None
    return tuple(found)


def unpacked_models(packed: Packed) -> tuple[PrivacyModel, ...]:
    """Return the models again, in a worker.

    Raises:
        OptionError: their code is not there.
    """
    found = []
    for name, text in packed:
        try:
            found.append(pickle.loads(text))  # noqa: S301 - the driver has made it
        except Exception as error:  # noqa: BLE001 - whatever importing raises
            raise OptionError(
                f"A worker cannot load the privacy model {name!r} ({type(error).__name__}); "
                "install its package on every worker."
            ) from None
    return tuple(found)
