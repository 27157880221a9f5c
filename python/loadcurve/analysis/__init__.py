"""What a run says in numbers: from its records to the arrays of ``stats``, and everything computed once."""
