--- The hosts and the words of `actorhost launch`.
local host_list = require("actor.launch.host_list")
local remote = require("actor.launch.remote")
local text_file = require("text_file")

local function shown(hosts, wrong)
  if not hosts then return wrong end
  local out = {}
  for i, host in ipairs(hosts) do
    out[i] = ("%s %s %s %s %s"):format(host.target, host.name, host.label, host.slots or "-", host.port or "-")
  end
  return table.concat(out, "; ")
end

local function list(text) return shown(host_list.list(text)) end

test("a list of hosts has users, numbers of nodes and ports", function()
  equal(list("a"), "a a a - -")
  equal(list("a,b:2, ada@c.example slots=3 port=2222"), "a a a - -; b b b 2 -; ada@c.example c.example c.example 3 2222")
  equal(list("[fe80::1]:2,::1"), "fe80::1 fe80::1 fe80::1 2 -; ::1 ::1 ::1 - -")
  equal(list("a port=1,a port=2"), "a a a:1 - 1; a a a:2 - 2")
end)

test("a wrong host is refused with its text", function()
  for text, wanted in pairs {
    [""] = "'' is no host", ["a,"] = "'' is no host", ["a b"] = "'b' is neither slots=N nor port=P", ["a:0"] = "from 1 to 4096",
    ["a:x"] = "'a:x' is no host", ["a slots=2 slots=3"] = "slots is given twice", ["a:2 slots=3"] = "slots is given twice",
    ["a port=70000"] = "from 1 to 65535, got '70000'", ["-oX"] = "is no host", ["-l@a"] = "is no host", ["a'b"] = "is no host",
    ["a,b,a"] = "host a is given twice",
  } do
    equal((list(text)):find(wanted, 1, true) ~= nil, true)
  end
end)

test("a file of hosts has comments, and an error names its line", function()
  local function of(text)
    return text_file.with(text, function(path) return (shown(host_list.file(path)):gsub(path, "FILE", 1)) end)
  end
  equal(of("# the machines\n\nnode1 slots=2 # fast\n  node2:3\r\n"), "node1 node1 node1 2 -; node2 node2 node2 3 -")
  equal(of("node1\nnode2 fast\n"), "FILE:2: host node2: 'fast' is neither slots=N nor port=P")
  equal(of("# none\n"):find("FILE has no host", 1, true), 1)
  equal(shown(host_list.file("/no/such/file")):find("--hostfile: /no/such/file", 1, true), 1)
end)

test("a shell reads quoted words as they were", function()
  local words = { "plain", "", "it's", "two words", '"$HOME" `x` \\ *', "a\nb", "-n", "ä;|&<>" }
  local pipe = io.popen("printf '%s\\0' " .. remote.line(words))
  local got = {}
  for word in pipe:read("*a"):gmatch("([^%z]*)%z") do got[#got + 1] = word end
  pipe:close()
  equal(got, words)
end)

test("the words of --ssh are divided as by a shell", function()
  equal(remote.words("ssh -p 2222  -i 'my key' -o\"A B\"=c"), { "ssh", "-p", "2222", "-i", "my key", "-oA B=c" })
  equal(remote.words("  "), {})
  equal(remote.words("ssh ''"), { "ssh", "" })
  equal({ remote.words("ssh 'x") }, { nil, "ssh 'x has no closing '" })
end)

test("ssh gets its options and the port, another program only the host and the command", function()
  local host = { target = "ada@b", name = "b", port = 2222 }
  local words = remote.command({ "/usr/bin/ssh", "-v" }, host, nil, "/opt/actorhost")
  equal({ words[1], words[2], words[#words - 1] }, { "/usr/bin/ssh", "-v", "ada@b" })
  equal(table.concat(words, " "):find("BatchMode=yes", 1, true) ~= nil, true)
  equal(remote.command({ "./mine" }, host, "/opt/act or", "/x"), { "./mine", "-p", "2222", "ada@b",
    "exec sh -c 'exec '\\''/opt/act or'\\'' launch --far-side'" })
end)
