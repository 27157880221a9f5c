"""A point of a trial in the layouts of ab, httperf and wrk2, for readers and scripts that know them."""
