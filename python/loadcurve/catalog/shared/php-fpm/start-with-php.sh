# Starts PHP-FPM, and in the place of this shell the web server, at whose end PHP-FPM ends.
setpriv --pdeathsig TERM "$1" --nodaemonize --prefix . --fpm-config php-fpm.conf -c php.ini &
shift
# A web server that does not find PHP may leave it alone for a second.
until [ -S php-fpm.sock ]; do
    kill -0 $! 2> /dev/null || exit 1
    sleep 0.01
done
exec "$@"
