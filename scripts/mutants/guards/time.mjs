const WAITING = 'test/redis/waiting.spec.ts';
const EXPIRY = 'test/redis/expiry.spec.ts';
const ROOM = 'src/engine/waiting-room.spec.ts';
const PUMP = 'test/redis/pump.spec.ts';

/**
 * Waiting, waking and the pump: nothing late, nothing early.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const TIME = [
  {
    name: 'notify: a job that becomes ready wakes a waiter',
    file: 'lua/lib/notify.lua',
    from: 'if someone_waits and name and',
    to: 'if false and',
    spec: WAITING,
    test: 'gets a job that is published later, at once',
  },
  {
    name: 're-check: a waiter whose wake-up was lost looks again',
    file: 'src/engine/waiting-room.ts',
    from: "const key = keys[place] ?? '';",
    to: "const key = '';",
    spec: WAITING,
    test: 'although the wake-up was lost',
  },
  {
    name: 'a wake-up while a waiter asks makes it ask again',
    file: 'src/engine/waiting-room.ts',
    from: 'filter(({ isOver, isWoken }) => !isOver && isWoken)',
    to: 'filter(({ isOver, isWoken }) => isOver && isWoken)',
    spec: WAITING,
    test: 'is registered in the step that found nothing',
  },
  {
    name: 're-check: interest in a queue that is still empty is noted again',
    file: 'lua/scripts/renew.lua',
    from: 'register_interest(empty)',
    to: '',
    spec: WAITING,
    test: 'is still registered when its flag would have ended',
  },
  {
    name: 're-check: who has a name asks',
    file: 'src/engine/waiting-room.ts',
    from: 'if (!this.isPlain(first.namespace, first.request)) void',
    to: 'if (!this.isPlain(first.namespace, first.request)) continue; else if (false) void',
    spec: ROOM,
    test: 'has those ask who have a name',
  },
  {
    name: 'who comes while a wake-up is followed asks for himself',
    file: 'src/engine/waiting-room.ts',
    from: 'return isKnown && oldest?.isAsking === false && ',
    to: 'return lines.length === 1 && oldest !== undefined && ',
    spec: ROOM,
    test: 'asks when a wake-up is followed',
  },
  {
    name: 'who comes while the store is away asks for himself',
    file: 'src/engine/waiting-room.ts',
    from: 'if (failure !== undefined) this.empty.delete(key);',
    to: 'if (failure !== undefined) continue;',
    spec: ROOM,
    test: 'asks when a look has failed',
  },
  {
    name: 'a wait longer than the longest timer',
    file: 'src/engine/waiting-room.ts',
    from: 'Math.min(Math.max(leftMs, 0), MAX_TIMER_MS)',
    to: 'Math.max(leftMs, 0)',
    spec: WAITING,
    test: 'D3: ',
  },
  {
    name: 'now_ceil: times begin at the end of the millisecond',
    file: 'lua/lib/now.lua',
    from: 'math.ceil(part_ms)',
    to: 'math.floor(part_ms)',
    spec: PUMP,
    test: 'never sets a time earlier than was asked for',
  },
  {
    name: 'an earlier due time moves the alarm forward',
    file: 'src/engine/pump.ts',
    from: '} else if (dueMs < alarm.dueMs) {',
    to: '} else if (dueMs < 0) {',
    spec: PUMP,
    test: 'T10: ',
  },
  {
    name: 'the sweep finds what a dead server left',
    file: 'src/engine/pump.ts',
    from: 'for (const [namespace, dueMs] of page.due) this.arm(namespace, dueMs);',
    to: '',
    spec: PUMP,
    test: 'takes over',
  },
  {
    name: 'a line that nobody consumes is rid of its blanks',
    file: 'lua/scripts/sweep.lua',
    from: 'skip <= NEAR and blanks + #blanked or 0',
    to: '0',
    spec: EXPIRY,
    test: 'leaves no trace, though hundreds that stay',
  },
  {
    name: 'a pass over a line ends when another one has begun',
    file: 'lua/scripts/sweep.lua',
    from: 'if skip > 0 and string.match(redis.call("HGET", info, "sweep") or "", "%.(%d+)$") ~= mark then',
    to: 'if false then',
    spec: EXPIRY,
    test: 'left to another pass',
  },
  {
    name: 'a line of ghosts is swept',
    file: 'lua/scripts/tidy.lua',
    from: ' or dead > math.max(live, MANY_GHOSTS)) then',
    to: ') then',
    spec: EXPIRY,
    test: 'ghosts of withdrawn jobs',
  },
  {
    name: 'nobody begins a pass over a line while another one goes on',
    file: 'lua/scripts/tidy.lua',
    from: 'elseif not facts[2] and (expiry',
    to: 'elseif (expiry',
    spec: EXPIRY,
    test: 'goes to its end',
  },
  {
    name: 'a line that nobody consumes is rid of the blanks at its head',
    file: 'lua/lib/unblank.lua',
    from: 'redis.call("LREM", ready, at_head, "")',
    to: 'at_head = 0',
    spec: EXPIRY,
    test: 'though there are jobs before it that stay',
  },
];
