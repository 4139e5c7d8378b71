"""Words at the door: one of those that an argument knows, or a refusal that lists them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from restride.errors import DescriptorError


def require_word(
    argument: str, value: Any, known: Sequence[str | bool | None], where: Callable[[], str] | None = None
) -> None:
    """Refuse what ``known`` does not hold. An array is no word: what comparing one gives is no answer.

    where: gives the descriptor for the message, if there is one already.

    Raises:
        DescriptorError: another word, or none at all.
    """
    is_word = value is None or isinstance(value, str | bool | np.bool_)
    if not is_word or value not in known:
        suffix = f", for {where()}" if where else ""
        raise DescriptorError(f"{argument} must be one of {', '.join(map(repr, known))}, not {value!r}{suffix}")
