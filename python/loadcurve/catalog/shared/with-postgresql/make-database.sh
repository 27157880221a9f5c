# Makes an empty cluster, and in it the table of the content. Nothing waits for the disk: the data go away with the server.
"$1" --pgdata=data --username=loadcurve --encoding=UTF8 --locale=C --auth-local=trust --auth-host=reject --no-sync &&
    exec "$2" --single -F -j -c exit_on_error=on -D data postgres < content.sql
