-- All workers pass once a worker has waited for a second; uses the server's signals about each worker.
return function(view)
  local shared, oldest = view.shared, view.now
  for i = 1, view.n do
    if view.busy[i] and view.alive[i] and view.started[i] < oldest then oldest = view.started[i] end
  end
  shared.times = (shared.times or 0) + 1
  if view.now - oldest > 1 + shared.times % 3 or view:behind(1) == 0 then return true end
  return false, 1 - view.waited / 10
end
