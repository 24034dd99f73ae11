const CRON = 'test/engine/cron.spec.ts';
const ZONES = 'test/engine/cron-zones.spec.ts';
const TIMER = 'lua/modules/timers/recurring.lua';

/**
 * Recurring jobs by cron.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const CRON_GUARDS = [
  {
    name: 'cron: slots that have all passed make no job before a server has computed more',
    file: TIMER,
    from: 'local is_stale = not recurring.complete and (#slots == 0 or slots[#slots] <= now_floor)',
    to: 'local is_stale = not recurring.complete and #slots == 0',
    spec: CRON,
    test: 'longer than all known slots',
  },
  {
    name: 'cron: a server is asked for more slots in time',
    file: TIMER,
    from: 'if is_stale or not recurring.complete and #slots - first + 1 <= FEW_SLOTS then',
    to: 'if not recurring.complete and #slots - first + 1 <= FEW_SLOTS then',
    spec: CRON,
    test: 'longer than all known slots',
  },
  {
    name: 'cron: a job waits for its jitter',
    file: TIMER,
    from: 'while first <= missed and makes > 0 and fire_time(id, slots[first], recurring.jitter) <= now_floor do',
    to: 'while first <= missed and makes > 0 do',
    spec: CRON,
    test: 'no job before its jitter',
  },
  {
    name: 'cron: catch_up_ms holds',
    file: TIMER,
    from: 'while recurring.catch_up and over < missed and now_floor - slot_at(over + 1) > recurring.catch_up do',
    to: 'while false do',
    spec: CRON,
    test: 'older than catch_up_ms',
  },
  {
    name: 'cron: with overlap, several slots at once make one job',
    file: TIMER,
    from: '    backlog, reason = 1, "overlap"\n',
    to: '',
    spec: CRON,
    test: 'replace: puts the job',
  },
  {
    name: 'cron: an ended schedule leaves the index',
    file: TIMER,
    from: '  else\n    remove_member(by_cron, id)\n',
    to: '',
    spec: CRON,
    test: 'begins at its start, and ends',
  },
  {
    name: 'cron: slots that were computed for another schedule are refused',
    file: 'lua/commands/extended/set_slots.lua',
    from: 'if known[1] ~= revision or known[4] ~= "0" or end_of_known ~= after then',
    to: 'if known[4] ~= "0" or end_of_known ~= after then',
    spec: CRON,
    test: 'computed for an earlier schedule',
  },
  {
    name: 'cron: no slot is kept twice',
    file: 'lua/commands/extended/set_slots.lua',
    from: 'if slot > (all[#all] or 0) then',
    to: 'if true then',
    spec: CRON,
    test: 'no slot twice',
  },
  {
    name: 'cron: a slot that was served does not come again',
    file: 'lua/commands/extended/set_recurring.lua',
    from: '  while slots[from] and slots[from] <= served do',
    to: '  while slots[from] and slots[from] <= 0 do',
    spec: CRON,
    test: 'never make the job of a slot twice',
  },
  {
    name: 'cron: a schedule that changes its kind leaves the old index',
    file: 'lua/commands/extended/set_recurring.lua',
    from: 'redis.call("ZREM", every_ms == 0 and by_interval or by_cron, id)\n',
    to: '',
    spec: CRON,
    test: 'go from an interval to cron',
  },
  {
    name: 'cron: lists of hours are fixed times',
    file: 'src/engine/recurring/cron.ts',
    from: "    fixedTimeRule: 'no-wildcard',\n",
    to: '',
    spec: ZONES,
    test: 'Europe/Berlin',
  },
  {
    name: 'cron: a gap over midnight leaves out no slot',
    file: 'src/engine/recurring/cron.ts',
    from: 'const next = leftOut(schedule, atMs, found) ?? found;',
    to: 'const next = found;',
    spec: 'src/engine/recurring/cron.spec.ts',
    test: 'Scoresbysund',
  },
  {
    name: 'cron: older time zones are computed again',
    file: 'src/engine/recurring/recurring.ts',
    from: 'if (!isCron(schedule) || recurring.isPaused || tzdata >= TZDATA) return false;',
    to: 'return false;',
    spec: CRON,
    test: 'computes the slots again',
  },
  {
    name: 'cron: the note of a pause goes with it',
    file: 'src/engine/recurring/recurring-fields.ts',
    from: "note: isPaused === true ? (note ?? '') : '',",
    to: "note: note ?? '',",
    spec: CRON,
    test: 'keeps its note until',
  },
];
