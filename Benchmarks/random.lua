-- The load: events in randomly chosen sessions out of RANGE, which are numbered from s_0000000000000, or from FIRST on, and
-- share one TOKEN. Every event sets another number, so every one is a transition.

dofile("Benchmarks/load.lua")

function init(arguments)
   first = tonumber(os.getenv("FIRST") or 0)
   range = tonumber(os.getenv("RANGE"))
   headers = {["Authorization"] = "Bearer " .. os.getenv("TOKEN"), ["Content-Type"] = "application/json"}
   value = (os.time() * 10 + number) * 1000000
   math.randomseed(value)
end

function request()
   value = value + 1
   local path = string.format("/v1/sessions/s_%013d/events", first + math.random(range) - 1)
   return wrk.format("POST", path, headers, '{"type":"update","payload":' .. string.format("%d", value) .. '}')
end
