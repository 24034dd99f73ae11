const SWEEP = 'test/engine/expiry.spec.ts';

/**
 * How what is due is found wherever it is.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const SWEEPS = [
  {
    name: 'sweep: the last step goes on to the end',
    file: 'src/engine/timers/pump.ts',
    from: 'isLast ? Number.POSITIVE_INFINITY : this.share',
    to: '1',
    spec: SWEEP,
    test: 'moves what a server left',
  },
  {
    name: 'sweep: a key that is no zset does not stop the others',
    file: 'lua/commands/maintenance/due_soon.lua',
    from: 'redis.pcall("ZRANGE"',
    to: 'redis.call("ZRANGE"',
    spec: SWEEP,
    test: 'moves what a server left',
  },
  {
    name: 'sweep: what is due later is not named',
    file: 'lua/commands/maintenance/due_soon.lua',
    from: 'if redis.pcall("ZCOUNT", key, "-inf", horizon_ms) ~= 0 then',
    to: 'if true then',
    spec: SWEEP,
    test: 'meets each namespace',
  },
];
