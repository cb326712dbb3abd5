"""
Engram as the memory of a CrewAI crew, agent or flow: `Crew(memory=EngramMemory(engram))`.

`memory` has CrewAI's calls, `records` what CrewAI lists, changes and deletes, `reading` what a report
states where no model reads it. CrewAI's own plug for storages searches by vectors that somebody else has
made; Engram searches by words, meaning, time and names, so the calls themselves are answered here.
docs/guides/adapters.md shows it at work.
"""

from engram.errors import MissingExtra

try:
    import crewai as _  # noqa: F401 - the modules below need it
except ImportError as exc:
    raise MissingExtra("crewai is not installed", hint="pip install 'engram-memory[crewai]'") from exc

from engram.surfaces.adapters.crewai.memory import EngramMemory

__all__ = ["EngramMemory"]
