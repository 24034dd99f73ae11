import { isPumphouseError } from '@pumphouse/client';
import { Command } from 'commander';
import { version } from '#src/domain/version';
import { Refused, Unreachable } from '../admin-client.js';
import { entriesOf, field, json, type Output, printable, styled } from '../print.js';
import type { OpenSession, Session } from '../session.js';

/** What one check found. */
export interface Finding {
  readonly status: 'ok' | 'warning' | 'problem';
  /** What was checked. */
  readonly check: string;
  readonly found: string;
  /** What to do; missing where all is well. */
  readonly action?: string;
}

type Check = (session: Session) => Promise<readonly Finding[]>;

/** Milliseconds that are too long for the middle one of some round trips. */
const SLOW_REDIS_MS = 5;
const SLOW_API_MS = 50;
/** Clocks may differ by so much, in milliseconds. */
const CLOCK_MS = 1_000;
/** Part of `maxmemory`, of `maxclients`. */
const NEARLY_FULL = 0.8;
const TRIPS = 5;
const DAY_MS = 86_400_000;
/** A token that ends so soon is worth a warning. */
const EXPIRES_SOON_MS = 7 * DAY_MS;
/** A loop that begins so late does not keep up. */
const LATE_LOOP_MS = 5_000;
const SHOWN_CHARACTERS = 4;
/** Width of the first column. */
const MARK = 7;

/** `pumphouse doctor` */
export function doctorCommand(open: OpenSession): Command {
  return new Command('doctor')
    .description('check the server, its Redis, the clocks and the tokens; print problems and their fixes')
    .addHelpText(
      'after',
      `
It needs the admin port, and for the check of a token a namespace and a token.
It exits with 1 if there is a problem; warnings do not count.`,
    )
    .action(async (_options: object, command: Command) => {
      const session = open(command);
      const findings: Finding[] = [];
      for (const check of [checkApi, checkServer, checkRedis, checkLoops, checkTokens])
        findings.push(...(await run(check, session)));
      session.out(session.isJson ? json(findings) : findings.map((one) => lineOf(session, one)).join(''));
      const problems = findings.filter(({ status }) => status === 'problem').length;
      if (problems > 0)
        throw new Refused(`${String(problems)} of ${String(findings.length)} checks failed`, 0);
    });
}

/** What a check cannot find out is a finding, too: the others go on. */
async function run(check: Check, session: Session): Promise<readonly Finding[]> {
  try {
    return await check(session);
  } catch (error) {
    if (!(error instanceof Refused || error instanceof Unreachable || isPumphouseError(error))) throw error;
    return [
      problem(NAMES.get(check) ?? 'server', error.message, 'See the message; give --timeout if it is slow.'),
    ];
  }
}

const COLORS = { ok: 'green', warning: 'yellow', problem: 'red' } as const;

function lineOf(output: Output, { status, check, found, action }: Finding): string {
  const mark = styled(output, COLORS[status], status.padEnd(MARK));
  const first = `${mark}  ${printable(`${check}: ${found}`)}\n`;
  return action === undefined ? first : `${first}${' '.repeat(MARK + 2)}${printable(action)}\n`;
}

const ok = (check: string, found: string): Finding => ({ status: 'ok', check, found });
const warning = (check: string, found: string, action: string): Finding => ({
  ...{ status: 'warning', check, found, action },
});
const problem = (check: string, found: string, action: string): Finding => ({
  ...{ status: 'problem', check, found, action },
});

async function checkApi(session: Session): Promise<Finding[]> {
  let client;
  try {
    client = session.client;
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    return [warning('API', 'not checked', error.message)];
  }
  const tripsMs: number[] = [];
  try {
    for (let i = 0; i < TRIPS; i++) {
      const begunMs = performance.now();
      await client.queues.list({ limit: 1 });
      tripsMs.push(performance.now() - begunMs);
    }
  } catch (error) {
    if (!isPumphouseError(error)) throw error;
    if (error.status === 403)
      return [ok('token', 'it is valid, without the permission `admin` for all queues')];
    if (error.status === 401)
      return [
        problem('token', error.message, 'Make one: pumphouse token create NAMESPACE -d "what it is for"'),
      ];
    return [problem('API', error.message, 'Is the server running, and is --url right?')];
  }
  tripsMs.sort((a, b) => a - b);
  const middleMs = tripsMs[(TRIPS - 1) / 2] ?? 0;
  const found = `${middleMs.toFixed(1)} ms per call`;
  return [
    ok('token', 'it is valid'),
    middleMs > SLOW_API_MS
      ? warning('API', found, 'The network or the server is slow: compare with the latency of Redis below.')
      : ok('API', found),
  ];
}

async function checkServer({ admin }: Session): Promise<Finding[]> {
  const running = field(await admin.call({ method: 'GET', path: ['version'] }), 'version');
  const found = `server ${String(running)}, command line ${version.number}`;
  const action = 'Use the command line of the same version.';
  return [running === version.number ? ok('version', found) : warning('version', found, action)];
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

async function checkRedis({ admin }: Session): Promise<Finding[]> {
  const begunMs = Date.now();
  const answer = await admin.call({ method: 'GET', path: ['redis'] });
  const hereMs = (begunMs + Date.now()) / 2;
  const pools = field(answer, 'pools');
  const offMs = Date.parse(String(field(answer, 'now'))) - hereMs;
  return [
    clock('clock of the server', offMs, 'this machine', Date.now() - begunMs),
    ...(Array.isArray(pools) ? pools : []).flatMap(poolFindings),
  ];
}

/** @param spreadMs how wrong the measurement may be */
function clock(check: string, offMs: number, than: string, spreadMs = 0): Finding {
  const off = `${String(Math.abs(Math.round(offMs)))} ms ${offMs < 0 ? 'behind' : 'ahead of'} ${than}`;
  if (Math.abs(offMs) <= CLOCK_MS + spreadMs) return ok(check, off);
  return warning(check, off, 'Set the clocks by NTP. Leases and delays use the clock of Redis only.');
}

function poolFindings(pool: unknown): Finding[] {
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

async function checkLoops({ admin }: Session): Promise<Finding[]> {
  const loops = field(await admin.call({ method: 'GET', path: ['loops'] }), 'loops');
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

async function checkTokens({ admin, namespace }: Session): Promise<Finding[]> {
  if (namespace === undefined) return [];
  const query = { details: 'true' };
  const listed = await admin.call({ method: 'GET', path: ['token', namespace], query });
  const tokens = entriesOf(field(listed, 'details'));
  const check = `tokens of ${namespace}`;
  if (tokens.length === 0)
    return [
      problem(check, 'there is none', `Make one: pumphouse token create ${namespace} -d "what it is for"`),
    ];
  const ending = tokens.filter(([, details]) => {
    const end = field(details, 'expires_at');
    return typeof end === 'string' && Date.parse(end) - Date.now() < EXPIRES_SOON_MS;
  });
  if (ending.length === 0) return [ok(check, `${String(tokens.length)}, none of them ends within 7 days`)];
  return ending.map(([token, details]) =>
    warning(
      check,
      `${token.slice(0, SHOWN_CHARACTERS)}… (${String(field(details, 'description'))}) ends at ${String(field(details, 'expires_at'))}`,
      `Replace it: pumphouse token rotate ${namespace} TOKEN --grace 1h`,
    ),
  );
}

const NAMES = new Map<Check, string>([
  [checkApi, 'API'],
  [checkServer, 'admin port'],
  [checkRedis, 'Redis'],
  [checkLoops, 'loops'],
  [checkTokens, 'tokens'],
]);
