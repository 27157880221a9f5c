-- Prints what wrk2 has counted as one line of JSON, behind a mark: each latency in µs with its count.
-- Latencies go by rank; those of one value are found by doubling steps and then halving them.
function done(summary, latency, requests)
   local parts, total, first = {}, #latency, 1
   while first <= total do
      local value, last, step = latency[first], first, 1
      while last + step <= total and latency[last + step] == value do
         last, step = last + step, 2 * step
      end
      local beyond = math.min(last + step, total + 1)
      while beyond - last > 1 do
         local middle = math.floor((last + beyond) / 2)
         if latency[middle] == value then last = middle else beyond = middle end
      end
      parts[#parts + 1] = string.format("[%d,%d]", value, last - first + 1)
      first = last + 1
   end
   local errors = summary.errors
   io.write(string.format(
      '\nloadcurve {"duration_us":%d,"requests":%d,"bytes":%d,"connect":%d,"read":%d,"write":%d,' ..
      '"status":%d,"timeout":%d,"latencies":[%s]}\n',
      summary.duration, summary.requests, summary.bytes, errors.connect, errors.read, errors.write,
      errors.status, errors.timeout, table.concat(parts, ",")))
end
