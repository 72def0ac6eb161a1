"""Tokens that an agent's transcript reports (standard library only)."""

from __future__ import annotations

import json
from pathlib import Path

FIELDS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


def tokens(transcript: Path, limit: int) -> int | None:
    """All tokens of a run, or None when the transcript reports none.

    Reads JSON lines: a ``result`` with a ``usage`` is the sum of the run (Claude Code's stream-json); else the usages
    of the completed turns are added (Codex's --json). limit: bytes of the transcript that are read, from its end.
    """
    with open(transcript, "rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - limit))
        lines = file.read().decode("utf-8", "replace").splitlines()
    total = None
    for line in lines:
        try:
            event = json.loads(line) if line.startswith("{") else None
        except ValueError:
            continue
        usage = event.get("usage") if isinstance(event, dict) else None
        if not isinstance(usage, dict):
            continue
        count = sum(value for key in FIELDS if isinstance(value := usage.get(key), int))
        if event.get("type") == "result":
            return count
        if event.get("type") == "turn.completed":
            total = (total or 0) + count
    return total
