-- What every script for wrk has: numbered threads, pauses of half to one and a half times BENCH_PAUSE milliseconds, one line of JSON.

local pause = tonumber(os.getenv("BENCH_PAUSE"))
local made = 0
function setup(thread)
    thread:set("number", made)
    made = made + 1
end

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
