"""Other load generators: what each can do, how it is asked, and how its output is read."""
