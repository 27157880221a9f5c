#!/usr/bin/env bash
# ws 8.23.0: a server that wants the client's compression window to be small (clientMaxWindowBits) gets an offer of
# permessage-deflate that does not let it set one. RFC 7692, section 5.1, has a server decline an offer that it cannot take, after which
# messages go uncompressed; ws refuses the whole connection with status 400, while an offer with another extension, which it does not
# know, is declined as the RFC says. Exits with 0 while this is so.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-fund --no-audit ws@8.23.0 > /dev/null
cat > offers.js << 'END'
const http = require("node:http");
const { WebSocketServer } = require("ws");

const offers = [
    "permessage-deflate; client_max_window_bits",
    "permessage-deflate",
    "permessage-unheard-of",
];
const perMessageDeflate = { clientMaxWindowBits: 10 };
const server = new WebSocketServer({ host: "127.0.0.1", port: 0, perMessageDeflate });

async function answerTo(offer) {
    const headers = {
        Connection: "Upgrade",
        Upgrade: "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
        "Sec-WebSocket-Extensions": offer,
    };
    const request = http.get({ host: "127.0.0.1", port: server.address().port, headers });
    return new Promise((resolve, reject) => {
        request.on("error", reject);
        request.on("response", (answer) => resolve(`status ${answer.statusCode}`));
        request.on("upgrade", (answer, socket) => {
            socket.destroy();
            resolve(`status 101, agreed on ${answer.headers["sec-websocket-extensions"] ?? "nothing"}`);
        });
    });
}

server.on("listening", async () => {
    for (const offer of offers) {
        console.log(`${offer}: ${await answerTo(offer)}`);
    }
    process.exit();
});
END
node offers.js | tee seen
diff - seen << 'END'
permessage-deflate; client_max_window_bits: status 101, agreed on permessage-deflate; client_max_window_bits=10
permessage-deflate: status 400
permessage-unheard-of: status 101, agreed on nothing
END
