"""The probe that runs beside a server: started, read, and its samples summed up over a load's window."""
