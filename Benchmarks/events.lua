-- The load: every request selects another tab in the next of the sessions, so every one is a transition.
-- SESSIONS names a file of lines "id token".

local thread_count = 0

function setup(thread)
   thread:set("number", thread_count)
   thread_count = thread_count + 1
end

function init(arguments)
   sessions = {}
   local line_number = 0
   for line in io.lines(os.getenv("SESSIONS")) do
      local id, token = line:match("(%S+) (%S+)")
      if line_number % tonumber(os.getenv("THREADS")) == number then
         sessions[#sessions + 1] = {
            path = "/v1/sessions/" .. id .. "/events",
            headers = {["Authorization"] = "Bearer " .. token, ["Content-Type"] = "application/json"}
         }
      end
      line_number = line_number + 1
   end
   count = 0
end

function request()
   local session = sessions[count % #sessions + 1]
   local tab = math.floor(count / #sessions + 1) % 3
   count = count + 1
   return wrk.format("POST", session.path, session.headers, '{"type":"selectTab","payload":{"index":' .. tab .. '}}')
end

function done(summary, latency)
   local errors = summary.errors
   io.write(string.format(
      "%d requests, %.0f/s, p50 %.2f ms, p99 %.2f ms, errors %d, non-2xx %d\n",
      summary.requests, summary.requests / summary.duration * 1e6, latency:percentile(50) / 1000,
      latency:percentile(99) / 1000, errors.connect + errors.read + errors.write + errors.timeout, errors.status))
end
