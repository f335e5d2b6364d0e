"""The conditions of results: everything that can change what an agent does or how it is graded, as one identity.

`bound` has drivers bind or refuse the configurations of an experiment; `conditions_of` makes the tree of named digests
and says what belongs to a profile, a case and a grader; `Conditions.seal` watches that all of it stays as it was.
"""

from quintain.conditions._bind import bound
from quintain.conditions._conditions import Conditions, conditions_of
from quintain.conditions._driver import RESERVED
from quintain.conditions._names import Concern, concern_of, tree_differences
from quintain.conditions._parts import TemplateLike
from quintain.conditions._salt import project_salt
from quintain.conditions._watch import Watch

__all__ = [
    "RESERVED",
    "Concern",
    "Conditions",
    "TemplateLike",
    "Watch",
    "bound",
    "concern_of",
    "conditions_of",
    "project_salt",
    "tree_differences",
]
