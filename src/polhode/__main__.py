"""`python -m polhode` is the command `polhode`."""

from polhode.cli import main

main()
