/* What `pumphouse doctor` and the console find in the answers of the admin port. It has no imports, so that browsers run it, too. */

/** What one check found. */
export interface Finding {
  readonly status: 'ok' | 'warning' | 'problem';
  /** What was checked. */
  readonly check: string;
  readonly found: string;
  /** What to do; missing where all is well. */
  readonly action?: string;
}

/** Milliseconds that are too long for the middle one of some round trips. */
const SLOW_REDIS_MS = 5;
/** Clocks may differ by so much, in milliseconds. */
const CLOCK_MS = 1_000;
/** Part of `maxmemory`, of `maxclients`. */
const NEARLY_FULL = 0.8;
/** A loop that begins so late does not keep up. */
const LATE_LOOP_MS = 5_000;

/** A check that passed. */
export const ok = (check: string, found: string): Finding => ({ status: 'ok', check, found });
/** Something that may become a problem. */
export const warning = (check: string, found: string, action: string): Finding => ({
  ...{ status: 'warning', check, found, action },
});
/** Something that loses jobs or stops the server. */
export const problem = (check: string, found: string, action: string): Finding => ({
  ...{ status: 'problem', check, found, action },
});

function field(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null
    ? Object.entries(value).find(([key]) => key === name)?.[1]
    : undefined;
}

/** What the server says that it lacks, by the reasons of `/readyz`. */
const REASONS = new Map([
  ['maxmemory_policy', 'Set maxmemory-policy noeviction: otherwise Redis deletes jobs.'],
  ['aof_off', 'Set appendonly yes: otherwise a restart of Redis loses jobs.'],
  ['full', 'Memory is full: raise maxmemory, or let workers empty the queues, or purge jobs.'],
  ['disk', 'Redis cannot write its AOF: free space on its disk, and read its log.'],
  ['node_down', 'A node of the Cluster does not answer: see CLUSTER NODES.'],
  ['durability', 'Fewer replicas are connected than the durability needs: see INFO replication.'],
]);

/** Says how far two clocks differ. @param spreadMs how wrong the measurement may be */
export function clock(check: string, offMs: number, than: string, spreadMs = 0): Finding {
  const off = `${String(Math.abs(Math.round(offMs)))} ms ${offMs < 0 ? 'behind' : 'ahead of'} ${than}`;
  if (Math.abs(offMs) <= CLOCK_MS + spreadMs) return ok(check, off);
  return warning(check, off, 'Set the clocks by NTP. Leases and delays use the clock of Redis only.');
}

/** What is well and what is wrong with a Redis. @param pool an item of the answer of `GET /redis` */
export function poolFindings(pool: unknown): Finding[] {
  const check = `Redis of pool ${String(field(pool, 'pool'))}`;
  const facts = field(pool, 'facts');
  const error = field(pool, 'error');
  if (typeof error === 'string')
    return [problem(check, error, 'Is Redis running, and is the address of the pool right?')];
  const degraded = field(pool, 'degraded');
  const reasons = (Array.isArray(degraded) ? degraded : []).map(String);
  const number = (name: string): number => Number(field(facts, name) ?? 0);
  return [
    ok(check, `version ${String(field(facts, 'version'))}, ${String(field(facts, 'mode'))}`),
    ...reasons.map((reason) => problem(check, reason, REASONS.get(reason) ?? 'See docs/operations.md.')),
    persistence(check, facts),
    memory(check, number('used_memory'), number('maxmemory')),
    connections(check, number('connected_clients'), number('maxclients')),
    latency(check, number('latency_ms'), number('max_latency_ms')),
    clock(`clock of ${check}`, number('clock_offset_ms'), 'the server'),
  ];
}

function persistence(check: string, facts: unknown): Finding {
  const [write, rewrite] = [field(facts, 'aof_last_write_status'), field(facts, 'aof_last_bgrewrite_status')];
  const fsync = field(facts, 'appendfsync');
  if (field(facts, 'aof_enabled') !== true)
    return problem(check, 'AOF is off', 'Set appendonly yes: otherwise a restart of Redis loses jobs.');
  if (write === 'err' || rewrite === 'err')
    return problem(check, 'the AOF cannot be written', 'Free space on the disk of Redis, and see its log.');
  if (fsync === 'no')
    return warning(
      check,
      'appendfsync no',
      'Set appendfsync everysec: otherwise a crash loses the writes of more than a second.',
    );
  return ok(check, `AOF is on${typeof fsync === 'string' ? `, appendfsync ${fsync}` : ''}`);
}

const MIB = 1_048_576;

function memory(check: string, used: number, max: number): Finding {
  const usedText = `${(used / MIB).toFixed(0)} MiB used`;
  if (max === 0)
    return warning(
      check,
      `${usedText}, no maxmemory`,
      'Set maxmemory below the memory of the machine: otherwise the system may kill Redis.',
    );
  const found = `${usedText} of ${(max / MIB).toFixed(0)} MiB`;
  if (used < max * NEARLY_FULL) return ok(check, found);
  return warning(check, found, 'Raise maxmemory, let workers empty the queues, or set quotas (limits.*).');
}

function connections(check: string, used: number, max: number): Finding {
  const found = `${String(used)} of ${String(max)} connections`;
  if (max === 0 || used < max * NEARLY_FULL) return ok(check, found);
  return warning(check, found, 'Raise maxclients of Redis.');
}

function latency(check: string, middleMs: number, longestMs: number): Finding {
  const found = `round trip ${String(middleMs)} ms, at most ${String(longestMs)} ms`;
  if (middleMs <= SLOW_REDIS_MS) return ok(check, found);
  return warning(check, found, 'Put the server near its Redis; see SLOWLOG GET and LATENCY DOCTOR of Redis.');
}

/** What is wrong with background loops. @param loops of the answer of `GET /loops` */
export function loopFindings(loops: unknown): Finding[] {
  const findings = (Array.isArray(loops) ? loops : []).flatMap((loop) => {
    const [pid, pool, name] = ['pid', 'pool', 'name'].map((one) => String(field(loop, one)));
    const check = `loop ${String(name)} of pool ${String(pool)} (pid ${String(pid)})`;
    const [error, lateMs] = [field(loop, 'last_error'), Number(field(loop, 'lag_ms') ?? 0)];
    // An error stays when later runs succeed.
    const isLast = String(field(loop, 'last_error_at')) >= String(field(loop, 'last_run_at'));
    if (typeof error === 'string' && isLast)
      return [problem(check, error, "See the server's log, and the checks of Redis.")];
    if (lateMs > LATE_LOOP_MS)
      return [
        warning(check, `${String(Math.round(lateMs))} ms late`, 'The server has too little processor time.'),
      ];
    return [];
  });
  return findings.length > 0 ? findings : [ok('loops', 'none is late or fails')];
}
