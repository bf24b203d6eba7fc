-- Reads of one page each for wrk, in any order: every line of the file is a path and a token.

local pause = tonumber(os.getenv("BENCH_PAUSE"))
local made = 0
function setup(thread)
    thread:set("number", made)
    made = made + 1
end

local requests = {}

function init(args)
    for text in io.lines(os.getenv("BENCH_PAGES")) do
        local path, token = text:match("(%S+) (%S+)")
        requests[#requests + 1] = wrk.format("GET", path, { ["Authorization"] = "Bearer " .. token })
    end
    math.randomseed(os.time() + number)
end

function request() return requests[math.random(#requests)] end

if pause > 0 then
    function delay() return math.random(pause / 2, pause * 3 / 2) end
end

function done(summary, latency, requests)
    local errors = summary.errors
    io.write(string.format(
        '{"seconds":%.6f,"requests":%d,"refused":%d,"failed":%d,"p50":%.3f,"p99":%.3f,"most":%.3f}\n', summary.duration / 1e6,
        summary.requests, errors.status, errors.connect + errors.read + errors.write + errors.timeout, latency:percentile(50) / 1000,
        latency:percentile(99) / 1000, latency.max / 1000))
end
