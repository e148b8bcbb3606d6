--- All barrier rules; each file in rules/ describes a rule. To add a rule, write its file and add its name here.
local library = require("actor.policy.library")
local rules = require("actor.barrier.rule")

-- From the classic rules to rules that measure and predict.
return library.new("barrier", rules, "actor.barrier.rules", {
  "bsp", "ssp", "asp", "pbsp", "pssp", "sample", "quorum", "ksync", "backup", "partial", "delay_bounded", "grace", "dssp",
  "assp", "elastic", "gssp", "awpsp", "sync_switch",
})
