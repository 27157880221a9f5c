#!/usr/bin/env bash
# Node.js 20.20.2: its documentation has server.keepAliveTimeout as the time after which an idle connection is closed, 5,000 ms by
# default. It closes after a second more, for any value, and has no property for that second, unlike later versions
# (keepAliveTimeoutBuffer). Exits with 0 while this is so.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund --prefix . node@20.20.2
cat > idle.js << 'END'
const http = require("node:http");
const net = require("node:net");
function closesAfter(keepAliveTimeout) {
    return new Promise((done) => {
        const server = http.createServer((request, response) => response.end("hi"));
        if (keepAliveTimeout !== undefined) server.keepAliveTimeout = keepAliveTimeout;
        server.listen(0, "127.0.0.1", () => {
            let answered = 0;
            const client = net.connect(server.address().port, "127.0.0.1");
            client.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
            client.on("data", () => { answered = Date.now(); });
            client.on("close", () => { server.close(); done((Date.now() - answered) / 1000); });
        });
    });
}
(async () => {
    const server = http.createServer();
    console.log(process.version, "keepAliveTimeout", server.keepAliveTimeout, "buffer", server.keepAliveTimeoutBuffer);
    const seen = await Promise.all([closesAfter(undefined), closesAfter(1000)]);
    console.log("closed after", seen.map((seconds) => seconds.toFixed(1)).join(" and "), "s");
    process.exit(Math.abs(seen[0] - 6) < 0.5 && Math.abs(seen[1] - 2) < 0.5 ? 0 : 1);
})();
END
./node_modules/node/bin/node idle.js
