"""Side-by-side measurements, each table in one run: `make bench`."""
