--- All merge rules; each file in rules/ describes a rule. To add a rule, write its file and add its name here.
local library = require("actor.policy.library")
local rules = require("actor.merge.rule")

-- Rules by age, rules with a buffer, robust rules.
return library.new("merge", rules, "actor.merge.rules", {
  "all", "mean", "drop", "stale", "scale", "polynomial", "buffer", "fedbuff", "fresh", "trimmed_mean", "median", "krum",
  "clip",
})
