-- A worker may be at most two steps ahead of the median of the workers that it sees. Run it in a job and in the
-- simulator:
--     actorhost --barrier examples/rules/median.lua examples/mnist_ps.lua
--     actorhost sim examples/rules/median.lua --barrier bsp,ssp:4,asp --nodes 200
return function(view) return view.step <= view:quantile(0.5) + 2 end
