-- A rule that reports suspected workers.
return function(view)
  for i = 1, view.n do
    local id = view.ids[i]
    if view.alive[i] == (view.shared[id] or false) then
      view.shared[id] = not view.alive[i]
      print(("worker %d is %s"):format(id, view.alive[i] and "back" or "silent"))
    end
  end
  return view:min() >= view.step
end
