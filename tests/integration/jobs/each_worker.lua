--- A schedule that gives every worker the tasks `tasks(id)`.
return function(tasks)
  return function(workers)
    local all = {}
    for _, id in ipairs(workers) do all[id] = tasks(id) end
    return all
  end
end
