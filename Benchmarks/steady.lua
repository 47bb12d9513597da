-- The load of events.lua at a steady pace: each of the connections waits before it posts an event, PAUSE milliseconds on
-- average. The times are random, because connections that all wait equally long soon post at the same moment.

dofile("Benchmarks/events.lua")

local pause = tonumber(os.getenv("PAUSE"))

function delay()
   return -pause * math.log(1 - math.random())
end
