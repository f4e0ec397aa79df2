"""Texts that people read: an English template with named holes, and the values that fill them.

A `Message` is made where it arises. As a text it is English; `shoal.messages.language` says it in
another language, whose catalogue (`<code>/LC_MESSAGES/shoal.po`) has the template as its key. So no
finished sentence is ever taken apart again.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


_PACKED = "message"
CAPITAL, CLAUSE, BARE = "capital", "clause", "bare"
"""How a text fills a hole, as in ``{what:capital}``: at the beginning of a sentence, or a sentence
inside another, without its full stop (``bare``) and with a small letter at its beginning
(``clause``)."""


def shaped(text: str, shape: str) -> str:
    """Return a text as it fills a hole."""
    if shape == CAPITAL:
        return f"{text[:1].upper()}{text[1:]}"
    if shape in (CLAUSE, BARE):
        text = text.rstrip(".")
        return f"{text[:1].lower()}{text[1:]}" if shape == CLAUSE else text
    return format(text, shape)


class Message(str):
    """A text that knows its template and its values: ``Message("{n:,} rows", n=3)``.

    Without values the template is the text, braces and all. A value may be a message itself. Values
    never are cells of the input: messages are shown and filed.

    Attributes:
        template: the English text with holes, as `str.format` fills them; key of the catalogues.
        values: what fills the holes.
        singular: the template for one, where ``template`` is for several (see `plural`).
    """

    __slots__ = ("singular", "template", "values")
    template: str
    values: Mapping[str, Any]
    singular: str | None

    def __new__(cls, template: str, /, **values: Any) -> Self:
        """Return the English text."""
        return cls._made(template, values)

    @classmethod
    def _made(cls, template: str, values: Mapping[str, Any], singular: str | None = None) -> Self:
        values = {
            name: getattr(value, "message", str(value)) if isinstance(value, Exception) else value
            for name, value in values.items()
        }
        chosen = singular if singular is not None and values["n"] == 1 else template
        made = super().__new__(cls, chosen.format_map(values) if values else chosen)
        made.template, made.values, made.singular = template, values, singular
        return made

    def __format__(self, spec: str) -> str:
        return shaped(str(self), spec)

    def __reduce__(self) -> tuple[Any, ...]:
        return self._made, (self.template, self.values, self.singular)

    def only_holes(self) -> bool:
        """Tell whether there is nothing to translate but what fills the holes."""
        return bool(self.values) and not any(map(str.isalpha, re.sub(r"{.*?}", "", self.template)))

    def mapped(self, change: Callable[[str], str]) -> Message:
        """Return the message with every text in it that is no template changed by a function."""
        if not self.values:
            text = change(str(self))
            return self if text == self else Message("{text}", text=text)
        values = {
            name: value.mapped(change)
            if isinstance(value, Message)
            else change(value)
            if isinstance(value, str)
            else value
            for name, value in self.values.items()
        }
        return Message._made(self.template, values, self.singular)

    def to_dict(self) -> dict[str, Any]:
        """Return the message as plain values, ready for JSON."""
        plain: dict[str, Any] = {"template": self.template}
        if self.singular is not None:
            plain["singular"] = self.singular
        if self.values:
            plain["values"] = {
                name: value.to_dict()
                if isinstance(value, Message)
                else value
                if isinstance(value, (int, float, str, bool, type(None)))
                else str(value)
                for name, value in self.values.items()
            }
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Message:
        """Return the message that `to_dict` has told."""
        values = {
            name: cls.from_dict(value) if isinstance(value, dict) else value
            for name, value in plain.get("values", {}).items()
        }
        return cls._made(plain["template"], values, plain.get("singular"))


def packed(value: Any) -> Any:
    """Return plain values with their messages as JSON can hold them; see `unpacked`."""
    if isinstance(value, Message):
        return {_PACKED: value.to_dict()}
    if isinstance(value, dict):
        return {name: packed(each) for name, each in value.items()}
    return [packed(each) for each in value] if isinstance(value, (list, tuple)) else value


def unpacked(value: Any) -> Any:
    """Return what `packed` was given."""
    if isinstance(value, dict):
        if list(value) == [_PACKED]:
            return Message.from_dict(value[_PACKED])
        return {name: unpacked(each) for name, each in value.items()}
    return [unpacked(each) for each in value] if isinstance(value, list) else value


def plural(one: str, many: str, n: int, /, **values: Any) -> Message:
    """Return one of two messages by a number, which is their hole ``n``."""
    return Message._made(many, {"n": n, **values}, one)  # noqa: SLF001 - of this module


def named_of(names: Iterable[str], most: int) -> Message:
    """Return names in quotation marks, and how many more there are."""
    every = list(names)
    shown = ", ".join(map(repr, every[:most]))
    if len(every) <= most:
        return Message("{names}", names=shown)
    return Message("{names} and {n} more", names=shown, n=len(every) - most)


def joined(separator: str, parts: Iterable[str]) -> Message:
    """Return messages one after the other, with what stands between them."""
    values = {f"part{place}": part for place, part in enumerate(parts)}
    return Message(separator.join(f"{{{name}}}" for name in values), **values)
