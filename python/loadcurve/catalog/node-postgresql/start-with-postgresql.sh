# Starts PostgreSQL, and in the place of this shell the application, at whose end PostgreSQL ends at once: its data go away.
postgres=$1
shift
# The socket lies in the folder of the data, where the socket's name stays short and which only this user can enter.
setpriv --pdeathsig QUIT "$postgres" -D data -c listen_addresses= -c unix_socket_directories=. &
exec "$@"
