-- Checks the assembled scripts and libraries, and each module alone, not these files: src/redis/lua/luacheck.spec.ts.
std = "lua51"
read_globals = { "redis", "cjson", "cmsgpack", "struct", "KEYS", "ARGV" }
max_line_length = false
ignore = {
  "231", "241", -- What a module's init sets, and this command does not use.
  "431", -- A module that is required inside a block has names of its own.
}
-- In a module alone, what the init of another module would set is never set.
files["modules/**/*.lua"].ignore = { "221", "231", "241", "431" }
-- A library sets variables to nil at the beginning of a call, several at once. Its function has KEYS and ARGV, used or not.
files["libraries/**/*.lua"].ignore = { "212/KEYS", "212/ARGV", "231", "241", "431", "532" }
