"""Files of other load generators as a run: which file is of what, its records, its folder."""
