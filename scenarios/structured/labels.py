"""Names that users give to parts of a question: regions, processors, settings."""

from __future__ import annotations

from typing import Any

from scenarios.language.errors import Findings, shown
from scenarios.language.schema import OWN_KEYS

LONGEST_LABEL = 80


def is_label(findings: Findings, key: str, name: Any, what: str) -> bool:
    """Whether ``name`` can be that of a ``what``; where not, the mistake is noted at ``key``.

    Names of quantities are made of it, with dots between their parts.
    """
    if not isinstance(name, str):
        findings.add(
            key, f"the name of a {what} is text, not {shown(name)}", 'write it in quotes, such as "a"'
        )
    elif not name.strip() or name != name.strip() or not name.isprintable():
        right = "write letters, digits and such, without tabs or line breaks and without blanks at the ends"
        findings.add(key, f"{shown(name)} is not a name of a {what}", right)
    elif "." in name:
        right = f"write {shown(name.replace('.', '-'))}, say"
        findings.add(key, f"{shown(name)} holds a dot, which parts the names of quantities", right)
    elif name in OWN_KEYS:
        wrong = f"{shown(name)} is a reserved name and cannot name a {what}"
        findings.add(key, wrong, f"write another name, such as {shown(name + '_1')}")
    elif len(name) > LONGEST_LABEL:
        findings.add(key, f"{shown(name)} is too long a name", f"write at most {LONGEST_LABEL} letters")
    else:
        return True
    return False
