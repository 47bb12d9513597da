-- The load: every request is a transition in the next of the sessions. In `tabs` it selects the next tab; in `shop` it is
-- the next step of a walk: a link to a product, back, another product, the cart, the product again, back. SESSIONS names
-- a file of lines "id token", APP the app.

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
   -- wrk throws the first request away. So the walk's first event is posted twice everywhere.
   count = -#sessions
end

-- The first event of each walk is accepted wherever the walk before was cut off.
local walks = {
   tabs = {
      '{"type":"selectTab","payload":{"index":1}}',
      '{"type":"selectTab","payload":{"index":2}}',
      '{"type":"selectTab","payload":{"index":0}}',
   },
   shop = {
      '{"type":"open","payload":{"path":"/products/%d"}}',
      '{"type":"back"}',
      '{"type":"product","payload":{"id":%d}}',
      '{"type":"selectTab","payload":{"tab":"cart"}}',
      '{"type":"selectTab","payload":{"tab":"home"}}',
      '{"type":"back"}',
   },
}
local walk = walks[os.getenv("APP")]

function request()
   local session = sessions[count % #sessions + 1]
   local round = math.max(0, math.floor(count / #sessions))
   count = count + 1
   return wrk.format("POST", session.path, session.headers, walk[round % #walk + 1]:format(count))
end
