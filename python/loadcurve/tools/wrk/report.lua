-- Prints what wrk has counted as one line of JSON, behind a mark: each latency in µs with its count.
function done(summary, latency, requests)
   local parts = {}
   for index = 1, #latency do
      local value, count = latency(index)
      parts[index] = string.format("[%d,%d]", value, count)
   end
   local errors = summary.errors
   io.write(string.format(
      '\nloadcurve {"duration_us":%d,"requests":%d,"bytes":%d,"connect":%d,"read":%d,"write":%d,' ..
      '"status":%d,"timeout":%d,"latencies":[%s]}\n',
      summary.duration, summary.requests, summary.bytes, errors.connect, errors.read, errors.write,
      errors.status, errors.timeout, table.concat(parts, ",")))
end
