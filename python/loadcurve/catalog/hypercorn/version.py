"""A configuration of Hypercorn that prints its version, for which its command has no option, and ends it."""

import sys
from importlib.metadata import version

print("hypercorn", version("hypercorn"))
sys.exit()
