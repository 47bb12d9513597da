-- Shared by the loads: numbered threads, and the line that is printed at the end.

local thread_count = 0

function setup(thread)
   thread:set("number", thread_count)
   thread_count = thread_count + 1
end

function done(summary, latency)
   local errors = summary.errors
   io.write(string.format(
      "%d requests, %.0f/s, p50 %.2f ms, p99 %.2f ms, p99.9 %.2f ms, errors %d, non-2xx %d\n",
      summary.requests, summary.requests / summary.duration * 1e6, latency:percentile(50) / 1000,
      latency:percentile(99) / 1000, latency:percentile(99.9) / 1000,
      errors.connect + errors.read + errors.write + errors.timeout, errors.status))
end
