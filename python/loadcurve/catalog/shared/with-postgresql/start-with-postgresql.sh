# Starts PostgreSQL for a number of processes with a number of connections each, and in the place of this shell the application, at
# whose end PostgreSQL ends at once: its data go away.
postgres=$1
connections=$(($2 * $3 + 10))
shift 3
# PostgreSQL keeps a few for administration. Its default of 100 stays, unless more are asked for.
[ $connections -gt 100 ] || connections=100
# The socket lies in the folder of the data, where the socket's name stays short and which only this user can enter.
setpriv --pdeathsig QUIT "$postgres" -D data -c listen_addresses= -c unix_socket_directories=. \
    -c max_connections=$connections &
exec "$@"
