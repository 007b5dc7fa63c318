"""The paper's symbols: one machine and problem size by the letters of Demmel et al. 2013."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Setting:
    """One parameter set in SI: problem size n (bodies, order, points), f flops per pair, and the machine."""

    name: str
    n: float
    f: float
    gamma_t: float
    beta_t: float
    alpha_t: float
    gamma_e: float
    beta_e: float
    alpha_e: float
    delta_e: float
    epsilon_e: float
    m: float

    @property
    def word_time(self) -> float:
        """Seconds per word, messages included: beta_t + alpha_t/m."""
        return self.beta_t + self.alpha_t / self.m

    @property
    def word_energy(self) -> float:
        """Joules per word, messages included: beta_e + alpha_e/m."""
        return self.beta_e + self.alpha_e / self.m

    @property
    def A(self) -> float:
        """V.C: the energy per pair that does not depend on memory."""
        return self.f * (self.gamma_e + self.gamma_t * self.epsilon_e) + self.delta_e * self.word_time

    @property
    def B(self) -> float:
        """V.C: the energy per pair that falls as 1/M."""
        return self.word_energy + self.epsilon_e * self.word_time

    @property
    def c(self) -> float:
        """The energy per pair that grows as M: delta_e gamma_t f."""
        return self.delta_e * self.gamma_t * self.f


def from_machine(name: str, n: float, f: float, machine: Mapping[str, float]) -> Setting:
    """Return a parameter set from a catalogue machine's parameters."""
    return Setting(
        name,
        n,
        f,
        machine["time_per_flop"],
        machine["time_per_word"],
        machine["time_per_message"],
        machine["energy_per_flop"],
        machine["energy_per_word"],
        machine["energy_per_message"],
        machine["memory_power_per_word"],
        machine["leakage_power"],
        machine["max_message"],
    )


def as_machine(s: Setting) -> dict[str, float]:
    """Return the machine of a parameter set, as a scenario's machine table."""
    return {
        "time_per_flop": s.gamma_t,
        "time_per_word": s.beta_t,
        "time_per_message": s.alpha_t,
        "energy_per_flop": s.gamma_e,
        "energy_per_word": s.beta_e,
        "energy_per_message": s.alpha_e,
        "memory_power_per_word": s.delta_e,
        "leakage_power": s.epsilon_e,
        "max_message": s.m,
    }


def greek(text: str) -> str:
    """Write the symbols of a text as the paper prints them: gamma_e becomes γe."""
    letters = {"alpha_": "α", "beta_": "β", "gamma_": "γ", "delta_": "δ", "epsilon_": "ε", "peak_fp": "R"}
    for name, letter in letters.items():
        text = text.replace(name, letter)
    return text
