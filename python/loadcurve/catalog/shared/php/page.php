<?php
// Prints the file of the content that the path names.
$path = getenv('CONTENT_FOLDER') . $_SERVER['PATH_INFO'];
if (is_file($path)) {
    header('Content-Length: ' . filesize($path));
    readfile($path);
} else {
    http_response_code(404);
}
