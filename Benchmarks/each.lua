-- Reads sessions one after the other, all of RANGE, which are numbered from s_0000000000000 and share one TOKEN.

dofile("Benchmarks/load.lua")

function init(arguments)
   range = tonumber(os.getenv("RANGE"))
   headers = {["Authorization"] = "Bearer " .. os.getenv("TOKEN")}
   -- Two threads take turns.
   count = number
end

function request()
   local path = string.format("/v1/sessions/s_%013d", count % range)
   count = count + 2
   return wrk.format("GET", path, headers)
end
