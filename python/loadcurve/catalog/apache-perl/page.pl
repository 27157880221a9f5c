# Answers with the file of the content that the path names.
package Loadcurve::Page;

use strict;
use warnings;

use Apache2::Const -compile => qw(NOT_FOUND OK);
use Apache2::RequestIO ();
use Apache2::RequestRec ();
use Apache2::Response ();

sub handler {
    my $request = shift;
    my $path = $request->filename;
    return Apache2::Const::NOT_FOUND if !-f $path || !open(my $file, '<:raw', $path);
    $request->content_type('text/html');
    $request->set_content_length(-s $file);
    while (read($file, my $part, 65536)) {
        $request->print($part);
    }
    return Apache2::Const::OK;
}

1;
