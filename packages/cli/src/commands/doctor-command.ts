import { isPumphouseError } from '@pumphouse/client';
import { Command } from 'commander';
import { version } from '#src/domain/version';
import { Refused, Unreachable } from '../admin-client.js';
import { clock, type Finding, loopFindings, ok, poolFindings, problem, warning } from '../findings.js';
import { entriesOf, field, json, type Output, printable, styled } from '../print.js';
import type { OpenSession, Session } from '../session.js';

type Check = (session: Session) => Promise<readonly Finding[]>;

/** Milliseconds that are too long for the middle one of some round trips. */
const SLOW_API_MS = 50;
const TRIPS = 5;
const DAY_MS = 86_400_000;
/** A token that ends so soon is worth a warning. */
const EXPIRES_SOON_MS = 7 * DAY_MS;
const SHOWN_CHARACTERS = 4;
const [UNAUTHORIZED, FORBIDDEN] = [401, 403];
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
    return [problem(NAMES.get(check) ?? 'server', error.message, remedyOf(error))];
  }
}

function remedyOf(error: Error): string {
  if (error instanceof Unreachable && error.hint !== undefined) return error.hint;
  const status = error instanceof Refused ? error.status : undefined;
  if (status === UNAUTHORIZED) return 'Give an account of the server, with its password: see the message.';
  if (status === FORBIDDEN)
    return 'Use an account with the role that the message names: --account, or PUMPHOUSE_ADMIN_AUTH.';
  return 'See the message; give --timeout if it is slow.';
}

const COLORS = { ok: 'green', warning: 'yellow', problem: 'red' } as const;

function lineOf(output: Output, { status, check, found, action }: Finding): string {
  const mark = styled(output, COLORS[status], status.padEnd(MARK));
  const first = `${mark}  ${printable(`${check}: ${found}`)}\n`;
  return action === undefined ? first : `${first}${' '.repeat(MARK + 2)}${printable(action)}\n`;
}

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
    if (error.status === FORBIDDEN)
      return [ok('token', 'it is valid, without the permission `admin` for all queues')];
    if (error.status === UNAUTHORIZED)
      return [problem('token', error.message, 'Give it with --token, or log in again.')];
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

async function checkLoops({ admin }: Session): Promise<Finding[]> {
  return loopFindings(field(await admin.call({ method: 'GET', path: ['loops'] }), 'loops'));
}

async function checkTokens({ admin, namespace, pool }: Session): Promise<Finding[]> {
  if (namespace === undefined) return [];
  const query = { pool, details: 'true' };
  const listed = await admin.call({ method: 'GET', path: ['token', namespace], query });
  const tokens = entriesOf(field(listed, 'details'));
  const check = `tokens of ${namespace}`;
  const ofPool = pool === undefined ? '' : ` --pool ${pool}`;
  if (tokens.length === 0)
    return [
      problem(
        check,
        'there is none',
        `Make one: pumphouse token create ${namespace}${ofPool} -d "what it is for"`,
      ),
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
