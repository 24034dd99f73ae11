-- Checks the assembled scripts, and each module alone, not these files: src/redis/scripts/luacheck.spec.ts.
std = "lua51"
read_globals = { "redis", "cjson", "cmsgpack", "struct", "KEYS", "ARGV" }
max_line_length = false
ignore = {
  "231", "241", -- What a module's init sets, and this command does not use.
  "431", -- A module that is required inside a block has names of its own.
}
-- In a module alone, what the init of another module would set is never set.
files["modules/**/*.lua"].ignore = { "221", "231", "241", "431" }
