#!/usr/bin/env bash
# artillery 2.0.21: the http.request_rate of its summary is the mean of the rates of its periods of 10 s, however short the part of a
# period was and however few requests it had. 40 requests in one second, a pause of 11 s and one more request are 41 in 12 s, about
# 3 a second; the summary says 21/sec, the mean of 40 and 1, rounded. Exits with 0 while it says more than three times as many.
set -eu
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2> /dev/null || true; rm -rf "$folder"' EXIT
cd "$folder"
export ARTILLERY_DISABLE_TELEMETRY=true HOME=$folder
npm install --silent --no-audit --no-fund --ignore-scripts --prefix . artillery@2.0.21
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
mkdir files
echo hello > files/index.html
python3 -m http.server --bind 127.0.0.1 --directory files "$port" > log 2>&1 &
server=$!
for _ in $(seq 100); do (: < "/dev/tcp/127.0.0.1/$port") 2> /dev/null && break; sleep 0.1; done
cat > test.yml << END
config:
  target: http://127.0.0.1:$port
  phases:
    - { duration: 1, arrivalCount: 40 }
    - { pause: 11 }
    - { duration: 1, arrivalCount: 1 }
scenarios:
  - flow: [ { get: { url: / } } ]
END
node_modules/.bin/artillery run --output report.json test.yml > said
grep -m 1 -o 'http.request_rate: .*' <(tac said)
node -e '
    const { aggregate } = require("./report.json");
    const requests = aggregate.counters["http.requests"];
    const seconds = (aggregate.lastCounterAt - aggregate.firstCounterAt) / 1000;
    const said = aggregate.rates["http.request_rate"];
    console.log(`artillery ${require("./node_modules/artillery/package.json").version}: ${requests} requests in`,
        `${seconds.toFixed(1)} s are ${(requests / seconds).toFixed(1)}/s, and it says ${said}/s`);
    process.exit(requests === 41 && said > 3 * requests / seconds ? 0 : 1);
'
