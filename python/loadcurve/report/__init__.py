"""What people look at: the HTML report of a run folder, and the summary in the terminal."""
