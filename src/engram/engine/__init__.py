"""
Wires the rooms once.

`engram` holds the object that users hold, `assemble` builds its parts. What only some verbs need is named as
`engine.dream_wiring`, and loaded then, along with the rooms that it wires: those modules stand below.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engram.engine import (
        absent as absent,
        ageing as ageing,
        agents as agents,
        answers as answers,
        chat_wiring as chat_wiring,
        covered as covered,
        derived as derived,
        doctor as doctor,
        doors as doors,
        dream_wiring as dream_wiring,
        intake as intake,
        lifecycle as lifecycle,
        marks as marks,
        notebook as notebook,
        overview as overview,
        reason_wiring as reason_wiring,
        shelf as shelf,
        sweeping as sweeping,
    )
else:
    from engram.late import modules_of

    __getattr__ = modules_of(__name__)
