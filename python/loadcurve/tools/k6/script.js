// The load that k6 is started with: each iteration of its scenario sends one request.
import http from "k6/http";
import exec from "k6/execution";

const load = JSON.parse(__ENV.LOADCURVE);

export const options = load.options;

// Statuses are told apart by those who read the samples, so none needs a sample that says whether it is expected.
http.setResponseCallback(null);

export default function () {
  // A scenario takes a second at least.
  if (load.aborts_after_ms !== null && Date.now() - exec.scenario.startTime >= load.aborts_after_ms) {
    exec.test.abort();
  }
  http.get(load.url, load.params);
}
