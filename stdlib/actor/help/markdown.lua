--- Markdown as HTML, by md4c (Debian: libmd4c-html0). The library is loaded at first use and may be missing.
local ffi = require("ffi")

local M = {}

ffi.cdef [[
int md_html(const char *text, unsigned length, void (*output)(const char *, unsigned, void *), void *data,
            unsigned parser_flags, unsigned renderer_flags);
]]

local tables, no_html = 0x0100, 0x0020 + 0x0040 -- MD_FLAG_TABLES, MD_FLAG_NOHTMLBLOCKS and _NOHTMLSPANS of md4c.h

---Converts a text in CommonMark with tables.
---@param text string
---@return string? html
---@return string? message if the library is missing
function M.html(text)
  local found, lib = pcall(ffi.load, "libmd4c-html.so.0")
  if not found then
    return nil, "pages need md4c; on Debian: apt-get install libmd4c-html0 (" .. tostring(lib) .. ")"
  end
  local parts = {}
  local output = ffi.cast("void (*)(const char *, unsigned, void *)", function(bytes, length)
    parts[#parts + 1] = ffi.string(bytes, length)
  end)
  local status = lib.md_html(text, #text, output, nil, tables + no_html, 0)
  output:free()
  if status ~= 0 then return nil, "md4c has no memory for a text of " .. #text .. " bytes" end
  return table.concat(parts)
end

jit.off(M.html) -- a compiled call must not call back

return M
