// An echo of WebSocket on the streams of Node's HTTP/2 (RFC 8441), which counts for itself.
//
// Each frame comes back without its mask; /refused is refused. Of /two and /two-silent, two of a connection are opened, and
// more are refused, or not answered. With `plain` it takes no WebSockets. It says at which port it listens, and what it has
// counted when its input ends.
import http2 from 'node:http2';

const CLOSE = 8;
const counts = { opened: 0, messages: 0, closed: 0, reset: 0 };

/** The first frame of these bytes with its header for the way back, as far as all of it has come. */
function frameOf(bytes) {
  const short = bytes.length < 2 ? 0 : bytes[1] & 127;
  const keyAt = short < 126 ? 2 : short === 126 ? 4 : 10;
  if (bytes.length < keyAt + 4) return null;
  const length = short < 126 ? short : short === 126 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
  const end = keyAt + 4 + length;
  if (bytes.length < end) return null;
  const key = bytes.subarray(keyAt, keyAt + 4);
  const body = bytes.subarray(keyAt + 4, end).map((byte, at) => byte ^ key[at % 4]);
  const header = Buffer.from(bytes.subarray(0, keyAt));
  header[1] = short;
  return { opcode: bytes[0] & 15, frame: Buffer.concat([header, body]), end };
}

function echo(stream) {
  let unread = Buffer.alloc(0);
  counts.opened += 1;
  stream.respond({ ':status': 200 });
  stream.on('close', () => { counts.reset += stream.rstCode === http2.constants.NGHTTP2_NO_ERROR ? 0 : 1; });
  stream.on('data', (part) => {
    unread = Buffer.concat([unread, part]);
    for (let next = frameOf(unread); next !== null; next = frameOf(unread)) {
      unread = unread.subarray(next.end);
      if (next.opcode === CLOSE) {
        counts.closed += 1;
        stream.end(next.frame);
        return;
      }
      counts.messages += 1;
      stream.write(next.frame);
    }
  });
}

const server = http2.createServer({ settings: { enableConnectProtocol: process.argv[2] !== 'plain' } });
server.on('sessionError', () => {});
server.on('stream', (stream, headers) => {
  stream.on('error', () => {});
  stream.session.asked = (stream.session.asked ?? 0) + 1;
  if (headers[':path'].startsWith('/two') && stream.session.asked > 2) {
    if (headers[':path'] === '/two') {
      stream.respond({ ':status': 503 });
      stream.end('two are enough');
    }
  } else if (headers[':path'] === '/refused') {
    stream.respond({ ':status': 403 });
    stream.end('not for you\nand more');
  } else if (headers[':method'] === 'CONNECT' && headers[':protocol'] === 'websocket') {
    echo(stream);
  } else {
    stream.respond({ ':status': 404 });
    stream.end();
  }
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.on('end', () => { console.log(JSON.stringify(counts)); process.exit(); }).resume();
