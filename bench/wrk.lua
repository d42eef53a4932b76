-- Posts one body over and over and compares every reply with the one that is expected, byte for byte.
-- Arguments: the file of the body, the file of the reply, for how many seconds new calls are made, and
-- for each part of the reply that varies the place of its first byte and the place after its last one.
-- What is under way then is waited for, so that each call that the server heard of is counted.
local ffi = require("ffi")
ffi.cdef [[
  typedef struct { long seconds; long nanoseconds; } bench_moment;
  int clock_gettime(int clock, bench_moment *moment);
  int getpid(void);
  int kill(int process, int signal);
  int memcmp(const char *one, const char *other, size_t length);
]]
local MONOTONIC = 1
local INTERRUPT = 2
local moment = ffi.new("bench_moment")
local threads = {}

local function now()
  ffi.C.clock_gettime(MONOTONIC, moment)
  return tonumber(moment.seconds) + tonumber(moment.nanoseconds) / 1e9
end

local function content(path)
  local file = assert(io.open(path, "rb"))
  local bytes = file:read("*a")
  file:close()
  return bytes
end

function setup(thread)
  table.insert(threads, thread)
end

function init(arguments)
  wrk.method = "POST"
  wrk.body = content(arguments[1])
  expected = content(arguments[2])
  span = tonumber(arguments[3])
  fixed = fixed_parts(arguments)
  asked, answered, bad, complaint = 0, 0, 0, ""
  began, ended = now(), 0
end

-- The parts of the reply between those that vary: pairs of a place and a length.
function fixed_parts(arguments)
  local parts, start = {}, 0
  for place = 4, #arguments, 2 do
    table.insert(parts, {start, tonumber(arguments[place]) - start})
    start = tonumber(arguments[place + 1])
  end
  table.insert(parts, {start, #expected - start})
  return parts
end

local function is_right(body)
  if #body ~= #expected then
    return false
  end
  local one, other = ffi.cast("const char *", body), ffi.cast("const char *", expected)
  for _, part in ipairs(fixed) do
    if ffi.C.memcmp(one + part[1], other + part[1], part[2]) ~= 0 then
      return false
    end
  end
  return true
end

local function is_over()
  return now() - began >= span
end

-- wrk sleeps out its time, unless it is told as by Ctrl-C; it reports all the same.
local function stop_if_quiet()
  if answered == asked then
    wrk.thread:stop()
    ffi.C.kill(ffi.C.getpid(), INTERRUPT)
  end
end

-- Milliseconds before the next call; none is made once the time is over.
function delay()
  if is_over() then
    stop_if_quiet()
    return 3600000
  end
  asked = asked + 1
  return 0
end

function response(status, headers, body)
  answered = answered + 1
  ended = now()
  if status ~= 200 or not is_right(body) then
    bad = bad + 1
    complaint = status .. " " .. string.sub(body, 1, 200)
  end
  if is_over() then
    stop_if_quiet()
  end
end

function done(summary, latency, requests)
  local thread = threads[1]
  local errors = summary.errors
  local broken = errors.connect + errors.read + errors.write + errors.timeout
  io.write(string.format("\nbench %d %d %d %.6f %.3f %.3f\n",
    thread:get("answered"), thread:get("bad"), broken,
    thread:get("ended") - thread:get("began"),
    latency:percentile(50) / 1000, latency:percentile(99) / 1000))
  io.write("complaint " .. thread:get("complaint"):gsub("%s+", " ") .. "\n")
end
