# Starts nginx, and in the place of this shell the proxy, at whose end nginx ends.
setpriv --pdeathsig TERM "$1" -p "$PWD" -c behind.conf -g "daemon off;" &
shift
until [ -S nginx.sock ]; do
    kill -0 $! 2> /dev/null || exit 1
    sleep 0.01
done
exec "$@"
