"""Kane's method: partial velocities, speeds of the analyst's choice, constraints embedded, reactions in evidence.

Reference: [Gillespie].
"""

from .embedding import Recombination, recombined
from .method import Kane, terms
from .reactions import reaction
from .suggest import suggest_speeds, written_operations

__all__ = ["Kane", "Recombination", "reaction", "recombined", "suggest_speeds", "terms", "written_operations"]
