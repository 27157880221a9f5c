# Starts the application, and in the place of this shell the web server, at whose end the application ends.
setpriv --pdeathsig TERM "$1" app.js &
shift
until [ -S node.sock ]; do
    kill -0 $! 2> /dev/null || exit 1
    sleep 0.01
done
exec "$@"
