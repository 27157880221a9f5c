<?php
// Answers with the page that the path names, made of its rows in their order.
// The socket lies in data, below the folder in which all programs work: by its whole path its name could be too long.
$database = pg_pconnect('host=/proc/self/cwd/data user=loadcurve dbname=postgres');
$path = pg_escape_bytea($database, $_SERVER['PATH_INFO']);
$rows = pg_query_params($database, 'SELECT body FROM part WHERE page = $1 ORDER BY number', [$path]);
$parts = pg_fetch_all_columns($rows);
if ($parts) {
    $page = implode('', array_map('pg_unescape_bytea', $parts));
    header('Content-Length: ' . strlen($page));
    echo $page;
} else {
    http_response_code(404);
}
