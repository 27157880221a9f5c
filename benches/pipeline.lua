-- A script for wrk that keeps as many requests under way on each connection as its argument says.
local burst

function init(arguments)
    burst = string.rep(wrk.format(), tonumber(arguments[1]))
end

function request()
    return burst
end
