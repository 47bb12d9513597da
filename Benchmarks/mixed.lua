-- The load of paced.lua with all that clients do: most requests post events to random sessions out of RANGE, or read
-- them; some create sessions, post to these with an Idempotency-Key, repeat that, or end them; some are refused.

dofile("Benchmarks/paced.lua")

local post_event = request
local JSON = {["Content-Type"] = "application/json"}
-- Sessions that this thread has created, oldest first.
local own = {}
-- The last request with an Idempotency-Key.
local keyed

local function read_session()
   return wrk.format("GET", string.format("/v1/sessions/s_%013d", math.random(range) - 1), headers)
end

local function create()
   return wrk.format("POST", "/v1/sessions", JSON, '{"app":"numbers"}')
end

local function post_with_key()
   local session = own[math.random(math.max(#own, 1))]
   if not session then return create() end
   value = value + 1
   keyed = wrk.format("POST", session.path .. "/events", {
      ["Authorization"] = session.authorization, ["Content-Type"] = "application/json",
      ["Idempotency-Key"] = '"' .. value .. '"'
   }, string.format('{"type":"update","payload":%d}', value))
   return keyed
end

local function repeat_key()
   return keyed or create()
end

local function finish()
   local session = table.remove(own, 1)
   return session and wrk.format("DELETE", session.path, {["Authorization"] = session.authorization}) or create()
end

local function refused()
   local path = string.format("/v1/sessions/s_%013d/events", math.random(range) - 1)
   return wrk.format("POST", path, headers, '{"type":"unheard"}')
end

-- Of 100 requests.
local shares = {
   {60, post_event}, {25, read_session}, {2, create}, {7, post_with_key}, {3, repeat_key}, {1, finish}, {2, refused}
}

function request()
   local choice = math.random(100)
   for _, share in ipairs(shares) do
      choice = choice - share[1]
      if choice <= 0 then return share[2]() end
   end
end

function response(status, headers, body)
   local id, token = body:match('"id":"(s_[^"]*)"'), body:match('"token":"([^"]*)"')
   if status == 201 and id and token then
      own[#own + 1] = {path = "/v1/sessions/" .. id, authorization = "Bearer " .. token}
   end
end
