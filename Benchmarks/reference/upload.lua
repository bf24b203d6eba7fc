-- Uploads for wrk. The same entries for both systems: one heart rate a second and person, a batch being one person's next seconds.
-- TrackMe gets them as its JSON, InfluxDB as its line protocol, each by its HTTP write. Nothing is cached between two requests
-- but the spelling of times, which both use equally.

local target = os.getenv("BENCH_TARGET")
local batch = tonumber(os.getenv("BENCH_BATCH"))
local start = tonumber(os.getenv("BENCH_START"))
local threads = tonumber(os.getenv("BENCH_THREADS"))
dofile("Benchmarks/reference/wrk.lua")

local mine = {}
local current, round = 0, 0

function init(args)
    local line = 0
    for text in io.lines(os.getenv("BENCH_DEVICES")) do
        if line % threads == number then
            local person, token = text:match("(%S+) (%S+)")
            local device = { person = person }
            if target == "trackme" then
                device.headers = { ["Content-Type"] = "application/json", ["Authorization"] = "Bearer " .. token }
            end
            mine[#mine + 1] = device
        end
        line = line + 1
    end
    math.randomseed(number + 1)
end

-- The value at one second: 60 to 100, no second like the one before.
local values = {}
for second = 0, 40 do values[second] = tostring(60 + second) end
local function value(second) return values[(7 * second) % 41] end

local tails = {}
for second = 0, 59 do tails[second] = string.format("%02d.000Z\",\"value\":", second) end
local minutes, stamps = {}, {}
local function minute(number)
    local text = minutes[number]
    if not text then
        text = os.date("!{\"type\":\"heart-rate\",\"at\":\"%Y-%m-%dT%H:%M:", number * 60)
        minutes[number] = text
    end
    return text
end
local function stamp(second)
    local text = stamps[second]
    if not text then
        text = string.format(" %d000\n", second)
        stamps[second] = text
    end
    return text
end

local function document(first)
    local parts, count = { "{\"entries\":[" }, 1
    for second = first, first + batch - 1 do
        if second > first then
            count = count + 1
            parts[count] = ","
        end
        parts[count + 1] = minute((second - second % 60) / 60)
        parts[count + 2] = tails[second % 60]
        parts[count + 3] = value(second)
        parts[count + 4] = "}"
        count = count + 4
    end
    parts[count + 1] = "]}"
    return table.concat(parts)
end

local function lines(person, first)
    local head = "heart-rate,person=" .. person .. " value="
    local parts, count = {}, 0
    for second = first, first + batch - 1 do
        parts[count + 1] = head
        parts[count + 2] = value(second)
        parts[count + 3] = stamp(second)
        count = count + 3
    end
    return table.concat(parts)
end

function request()
    current = current + 1
    if current > #mine then
        current = 1
        round = round + 1
    end
    local device = mine[current]
    local first = start + round * batch
    if target == "trackme" then
        return wrk.format("POST", "/ingest/v1/entries", device.headers, document(first))
    end
    return wrk.format("POST", "/write?db=bench&precision=ms", nil, lines(device.person, first))
end
