--- All merge rules; each file in rules/ describes a rule. To add a rule, write its file and add its name here.
local library = require("actor.policy.library")
local rules = require("actor.merge.rule")

-- Rules by age, rules by the model's movement or momentum, rules with a buffer, robust rules.
return library.new("merge", rules, "actor.merge.rules", {
  "all", "mean", "step_mean", "drop", "ringmaster", "scale", "polynomial", "decay", "delay_adaptive", "fedasync",
  "gap_aware", "delayed_nesterov", "heloco", "buffer", "fedbuff", "rennala", "port", "trimmed_mean", "median", "krum", "basgd", "clip", "centred_clip",
})
