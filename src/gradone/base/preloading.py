"""Imported first by the process that children are forked from: it looks for no garbage.

What is imported stays, and looking through all of it again and again takes a sixth of the time of
the imports. Children look for garbage again, but not among what they were born with. In any other
process, which may import this to document or to test it, nothing happens.
"""

import gc
import sys
from multiprocessing import forkserver

if getattr(sys.modules["__main__"], "main", None) is forkserver.main:
    gc.disable()
