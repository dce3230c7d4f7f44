"""Who spent which tokens, and a budget that is never exceeded.

Before a call its upper limit is *reserved*; after it the reservation is *settled* with the usage, or
written off as *lost* when no usage came back. ``spent + lost + reserved`` never exceeds the budget.
Each change is handed to the journal before the method returns, so it is on disk before the request
goes out, and a killed run's open reservations are known, and charged as lost when it is resumed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from kgb_env.errors import BudgetError
from kgb_env.records import Usage

__all__ = ["Entry", "Reservation", "TokenLedger", "Turn"]


@dataclass(frozen=True, slots=True)
class Turn:
    """A leaf of the tree run -> group -> episode -> turn."""

    group: str
    episode: str
    """Episode key."""
    attempt: int
    """How often the episode was begun, from 1; a resumed run begins unfinished ones again."""
    turn: int
    """From 0."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """Tokens set aside for one call."""

    where: Turn
    tokens: int
    """By the ledger's meter."""
    max_output_tokens: int
    """What the call may be allowed to answer."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Tokens charged to a turn."""

    where: Turn
    usage: Usage = Usage()
    lost: int = 0
    """Tokens reserved by a call that ended without usage."""


@dataclass(slots=True)
class TokenLedger:
    """Tokens of a run, thread-safe.

    Example:
        >>> ledger = TokenLedger(budget=100)
        >>> reservation = ledger.reserve(Turn("aten::add", "k", 1, 0), 400)
        >>> reservation.max_output_tokens
        100
        >>> ledger.settle(reservation, Usage(output=30))
        >>> ledger.left
        70
    """

    budget: int = 0
    """Tokens by :attr:`meter`; 0 means no budget."""
    meter: Literal["output", "total"] = "output"
    journal: Callable[[dict[str, Any]], None] | None = None
    """Receives ``reserve`` and ``lost`` records (usage is part of the action's own record)."""
    entries: list[Entry] = field(default_factory=list)
    _open: dict[Turn, Reservation] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    def __post_init__(self) -> None:
        """Refuse a negative budget with BudgetError."""
        if self.budget < 0:
            msg = f"a budget must be 0 (none) or more, not {self.budget}"
            raise BudgetError(msg)

    @property
    def spent(self) -> int:
        """Settled tokens by the meter."""
        return sum(self.metered(entry.usage) for entry in self.entries)

    @property
    def lost(self) -> int:
        """Tokens of calls that ended without usage."""
        return sum(entry.lost for entry in self.entries)

    @property
    def reserved(self) -> int:
        """Tokens of calls under way."""
        return sum(reservation.tokens for reservation in self._open.values())

    @property
    def left(self) -> int:
        """Tokens left to reserve, at least 0; -1 without a budget."""
        return max(0, self.budget - self.spent - self.lost - self.reserved) if self.budget else -1

    def metered(self, usage: Usage) -> int:
        """Return what a usage counts by the meter."""
        return usage.output if self.meter == "output" else usage.total

    def reserve(self, where: Turn, limit: int, *, input_tokens: int = 0, floor: int = 1) -> Reservation | None:
        """Set tokens aside for a call.

        Args:
            where: The turn it is for.
            limit: Output tokens that the call would like to have.
            input_tokens: Input it will be charged, counted or estimated high; matters to ``total`` only.
            floor: Fewest output tokens that the provider accepts.

        Returns:
            The reservation; None if fewer than ``floor`` output tokens are left: make no call.

        Raises:
            BudgetError: the turn has an open reservation already.
        """
        with self._lock:
            if where in self._open:
                msg = f"turn {where.turn} of episode {where.episode} has an open reservation"
                raise BudgetError(msg)
            fixed = input_tokens if self.meter == "total" else 0
            output = limit if self.left < 0 else min(limit, self.left - fixed)
            if output < floor:
                return None
            reservation = Reservation(where, fixed + output, output)
            self._open[where] = reservation
            self._write("reserve", where, reservation.tokens)
            return reservation

    def settle(self, reservation: Reservation, usage: Usage) -> None:
        """Charge what a call really used.

        Raises:
            BudgetError: it used more than was reserved. The tokens are spent, so they are charged as lost.
        """
        used = self.metered(usage)
        with self._lock:
            del self._open[reservation.where]
            if used <= reservation.tokens:
                self.entries.append(Entry(reservation.where, usage))
                return
            self.charge(Entry(reservation.where, lost=used))
            msg = f"the policy used {used} {self.meter} tokens where {reservation.tokens} were reserved"
            raise BudgetError(msg)

    def lose(self, reservation: Reservation) -> None:
        """Charge a call in full that ended without usage."""
        with self._lock:
            del self._open[reservation.where]
            self.charge(Entry(reservation.where, lost=reservation.tokens))

    def charge(self, entry: Entry) -> None:
        """Charge an entry without a reservation: what an earlier session of the run spent or lost."""
        with self._lock:
            self.entries.append(entry)
            if entry.lost:
                self._write("lost", entry.where, entry.lost)

    def usage(self, *, group: str = "", episode: str = "") -> Usage:
        """Return the usage of the run, of a group, or of an episode."""
        total = Usage()
        for entry in self.entries:
            if group in ("", entry.where.group) and episode in ("", entry.where.episode):
                total = total + entry.usage
        return total

    def _write(self, kind: str, where: Turn, tokens: int) -> None:
        if self.journal:
            self.journal(
                {
                    "type": kind,
                    "key": where.episode,
                    "group": where.group,
                    "attempt": where.attempt,
                    "turn": where.turn,
                    "tokens": tokens,
                }
            )
