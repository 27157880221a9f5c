"""wrk: what it can do, how it is asked, and how its output is read."""
