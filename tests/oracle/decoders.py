"""Networks that tests of training and of inference ask about."""

from typing import Any

LLAMA_70B: dict[str, Any] = {
    "layers": 80,
    "hidden": 8192,
    "heads": 64,
    "kv_heads": 8,
    "ffn": 28672,
    "gated": "on",
    "vocabulary": 128256,
}
"""Llama 3 70B: A. Grattafiori et al., *The Llama 3 herd of models*, 2024, table 3; grouped queries, a gated layer."""
