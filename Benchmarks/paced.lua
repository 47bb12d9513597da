-- The load of random.lua at a steady pace: each of the connections waits PAUSE milliseconds before it posts an event.

dofile("Benchmarks/random.lua")

function delay()
   return tonumber(os.getenv("PAUSE"))
end
