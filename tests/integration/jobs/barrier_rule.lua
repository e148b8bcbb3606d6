-- A rule of jobs, loaded from this file.
return function(view) return view:passed(view.step) == view.n end
