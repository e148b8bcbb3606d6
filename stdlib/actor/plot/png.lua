--- Renders figures as PNG with librsvg (Debian: librsvg2-2). The library is loaded at first use and may be missing.
local ffi = require("ffi")
local file = require("actor.plot.file")
local theme = require("actor.plot.theme")
local util = require("actor.util")

local M = {}

ffi.cdef [[
typedef struct { double x, y, width, height; } actor_rsvg_rectangle;
typedef struct { uint32_t domain; int code; char *message; } actor_g_error;
typedef struct actor_rsvg_handle actor_rsvg_handle;
typedef struct actor_cairo actor_cairo;
typedef struct actor_cairo_surface actor_cairo_surface;
actor_rsvg_handle *rsvg_handle_new_from_data(const uint8_t *data, size_t length, actor_g_error **error);
int rsvg_handle_get_intrinsic_size_in_pixels(actor_rsvg_handle *handle, double *width, double *height);
int rsvg_handle_render_document(actor_rsvg_handle *handle, actor_cairo *cr, const actor_rsvg_rectangle *viewport,
                                actor_g_error **error);
void g_object_unref(void *object);
void g_error_free(actor_g_error *error);
actor_cairo_surface *cairo_image_surface_create(int format, int width, int height);
void cairo_surface_flush(actor_cairo_surface *surface);
unsigned char *cairo_image_surface_get_data(actor_cairo_surface *surface);
int cairo_image_surface_get_stride(actor_cairo_surface *surface);
int cairo_surface_status(actor_cairo_surface *surface);
void cairo_surface_destroy(actor_cairo_surface *surface);
int cairo_surface_write_to_png(actor_cairo_surface *surface, const char *path);
const char *cairo_status_to_string(int status);
actor_cairo *cairo_create(actor_cairo_surface *surface);
void cairo_destroy(actor_cairo *cr);
void *dlopen(const char *path, int flags);
]]

-- RTLD_NOW and RTLD_NODELETE: the library holds per-thread state, so it must not be unloaded when this Lua state ends.
local now_and_for_good = 2 + 0x1000

-- Loads librsvg, which also gives access to its own libraries (cairo, glib).
local function load_rsvg()
  local name = "librsvg-2.so.2"
  ffi.C.dlopen(name, now_and_for_good)
  return ffi.load(name)
end

local argb32, largest_side = 0, 32767 -- of cairo

-- Returns the message of a GError and frees the error.
local function error_text(lib, err)
  if err[0] == nil then return "unknown error" end
  local message = ffi.string(err[0].message)
  lib.g_error_free(err[0])
  return message
end

local function open(lib, svg)
  local err = ffi.new("actor_g_error *[1]")
  local handle = lib.rsvg_handle_new_from_data(svg, #svg, err)
  if handle == nil then return nil, error_text(lib, err) end
  return ffi.gc(handle, lib.g_object_unref)
end

local function height_for(lib, handle, width)
  local size = ffi.new("double[2]")
  if lib.rsvg_handle_get_intrinsic_size_in_pixels(handle, size, size + 1) == 0 or not (size[0] > 0 and size[1] > 0) then
    return nil, "the figure has no size in pixels"
  end
  width = width or math.floor(2 * size[0] + 0.5)
  local height = math.max(1, math.floor(width * size[1] / size[0] + 0.5))
  if width > largest_side or height > largest_side then
    return nil, ("%d x %d pixels are too many"):format(width, height)
  end
  return width, height
end

local function paint(lib, handle, surface, width, height)
  local cr = ffi.gc(lib.cairo_create(surface), lib.cairo_destroy)
  local err = ffi.new("actor_g_error *[1]")
  local whole = ffi.new("actor_rsvg_rectangle", 0, 0, width, height)
  local fine = lib.rsvg_handle_render_document(handle, cr, whole, err) ~= 0
  lib.cairo_destroy(ffi.gc(cr, nil))
  if not fine then return error_text(lib, err) end
  lib.cairo_surface_flush(surface)
end

---Renders a figure, calls `use(lib, surface, width, height)` with the image, and returns the results of `use`.
---@param svg string
---@param options {width?: integer, scheme?: string}
---@param use fun(lib: any, surface: any, width: integer, height: integer): ...
---@param load? fun(): any returns the library; raises if it is missing
---@return any
function M.drawn(svg, options, use, load)
  local found, lib = pcall(load or load_rsvg)
  if not found then
    return nil, "PNG needs librsvg; on Debian: apt-get install librsvg2-2 (" .. tostring(lib) .. ")", "unavailable"
  end
  if options.scheme == "dark" then svg = theme.darkened(svg) end
  local handle, message = open(lib, svg)
  if not handle then return nil, "the figure is no SVG that librsvg reads: " .. message, "invalid" end
  local width, height = height_for(lib, handle, options.width)
  if not width then return nil, height, "invalid" end
  local surface = ffi.gc(lib.cairo_image_surface_create(argb32, width, height), lib.cairo_surface_destroy)
  local status = lib.cairo_surface_status(surface)
  if status ~= 0 then return nil, ffi.string(lib.cairo_status_to_string(status)), "invalid" end
  message = paint(lib, handle, surface, width, height)
  if message then return nil, message, "invalid" end
  return use(lib, surface, width, height)
end

-- Encodes the image as PNG. It uses a file: otherwise cairo needs a callback, which the FFI should not create.
local function png_bytes(lib, surface)
  local name = os.tmpname()
  local status = lib.cairo_surface_write_to_png(surface, name)
  local bytes = status == 0 and util.read(name)
  os.remove(name)
  if not bytes then return nil, name .. ": " .. ffi.string(lib.cairo_status_to_string(status)), "unwritable" end
  return bytes
end

---See plot.png.
function M.write(path, svg, options, load)
  local bytes, message, code = M.drawn(svg, options, png_bytes, load)
  if not bytes then return nil, message, code end
  return file.write(path, bytes)
end

return M
