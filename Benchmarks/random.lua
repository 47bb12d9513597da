-- The load: events in random ones of RANGE sessions, numbered from s_0000000000000, that share one TOKEN. Every event sets
-- another number, so every one is a transition.

local thread_count = 0

function setup(thread)
   thread:set("number", thread_count)
   thread_count = thread_count + 1
end

function init(arguments)
   range = tonumber(os.getenv("RANGE"))
   headers = {["Authorization"] = "Bearer " .. os.getenv("TOKEN"), ["Content-Type"] = "application/json"}
   value = (os.time() * 10 + number) * 1000000
   math.randomseed(value)
end

function request()
   value = value + 1
   local path = string.format("/v1/sessions/s_%013d/events", math.random(range) - 1)
   return wrk.format("POST", path, headers, '{"type":"update","payload":' .. string.format("%d", value) .. '}')
end

function done(summary, latency)
   local errors = summary.errors
   io.write(string.format(
      "%d requests, %.0f/s, p50 %.2f ms, p99 %.2f ms, errors %d, non-2xx %d\n",
      summary.requests, summary.requests / summary.duration * 1e6, latency:percentile(50) / 1000,
      latency:percentile(99) / 1000, errors.connect + errors.read + errors.write + errors.timeout, errors.status))
end
