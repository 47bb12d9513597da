-- The load: every request is a transition in the next of the sessions. In `tabs` it selects another tab; in `shop` it
-- opens the link of another product. SESSIONS names a file of lines "id token", APP the app.

dofile("Benchmarks/load.lua")

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

local bodies = {
   tabs = function(round) return '{"type":"selectTab","payload":{"index":' .. (round + 1) % 3 .. '}}' end,
   shop = function(round)
      return '{"type":"open","payload":{"path":"/products/' .. os.time() % 100000 * 1000 + round .. '"}}'
   end,
}
local body = bodies[os.getenv("APP")]

function request()
   local session = sessions[count % #sessions + 1]
   local round = math.floor(count / #sessions)
   count = count + 1
   return wrk.format("POST", session.path, session.headers, body(round))
end
