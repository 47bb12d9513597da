-- Reads one session after the other. SESSIONS names a file of lines "id token".

dofile("Benchmarks/load.lua")

function init(arguments)
   sessions = {}
   for line in io.lines(os.getenv("SESSIONS")) do
      local id, token = line:match("(%S+) (%S+)")
      sessions[#sessions + 1] = {path = "/v1/sessions/" .. id, headers = {["Authorization"] = "Bearer " .. token}}
   end
   count = number * 1000
end

function request()
   local session = sessions[count % #sessions + 1]
   count = count + 1
   return wrk.format("GET", session.path, session.headers)
end
