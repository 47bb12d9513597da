-- The load: requests go to one session after the other, and each is a transition, the next step of a walk through the
-- app. In `numbers` most steps call coordinators: pushes, a child that finishes, an alert, a sheet. In `tabs` a step
-- selects the next tab. In `shop` the walk opens a link to a product, goes back, and visits another product, the cart
-- and that product again before it goes back. SESSIONS names a file of lines "id token", APP the app, whose walk is in
-- `walks`.

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
   -- wrk discards the first request. So each session gets the walk's first event twice.
   count = -#sessions
end

-- The first event of each walk is accepted wherever the walk before was cut off; but in `numbers`, if an alert was left
-- open, the third event is the first to be accepted, so some are refused.
local walk = {}
for event in io.lines("Benchmarks/walks/" .. os.getenv("APP")) do walk[#walk + 1] = event end

function request()
   local session = sessions[count % #sessions + 1]
   local round = math.max(0, math.floor(count / #sessions))
   count = count + 1
   return wrk.format("POST", session.path, session.headers, (walk[round % #walk + 1]:gsub("NUMBER", count)))
end
