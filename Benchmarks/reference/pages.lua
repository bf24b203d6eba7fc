-- Reads of one page each for wrk, in any order: every line of the file is a path and a token.

dofile("Benchmarks/reference/wrk.lua")

local requests = {}

function init(args)
    for text in io.lines(os.getenv("BENCH_PAGES")) do
        local path, token = text:match("(%S+) (%S+)")
        requests[#requests + 1] = wrk.format("GET", path, { ["Authorization"] = "Bearer " .. token })
    end
    math.randomseed(os.time() + number)
end

function request() return requests[math.random(#requests)] end
