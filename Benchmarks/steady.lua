-- The load of events.lua at a steady pace: each of the connections waits PAUSE milliseconds before it posts an event.

dofile("Benchmarks/events.lua")

function delay()
   return tonumber(os.getenv("PAUSE"))
end
