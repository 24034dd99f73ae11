import type { RunningServer } from './processes/running-server.js';
import type { Config, TlsListenerConfig } from '../config/config.js';
import { tokenOptions } from '../config/pool-options.js';
import { ConsoleFiles } from '../console/console-files.js';

interface Addresses {
  readonly api: string;
  readonly admin: string;
  /** The web console; left out of a build without it. */
  readonly console?: string;
  /** Left out if later's API is off. */
  readonly later?: string;
}

const POOL = 'default';
const NAMESPACE = 'demo';
const QUEUE = 'mail';
/** The port that the command line calls by itself. */
const ADMIN_PORT = 7_778;

/** True if this server's embedded store has never been used. Call it before the server serves. */
export async function isFirstStart(server: RunningServer, config: Config): Promise<boolean> {
  if (config.pools[POOL]?.url !== 'embedded' || tokenOptions(config) !== undefined) return false;
  const { pools, tokens } = server.admin.context;
  const pool = pools.get(POOL);
  // Not the number of keys: loops of the server write some of their own.
  const hasJobs = Number(await pool?.read('EXISTS', pool.keys.namespaces)) !== 0;
  return !hasJobs && (await tokens.isEmpty());
}

/** Creates a token for a first try and returns instructions: lines that work when they are pasted one after the other. */
export async function welcome(server: RunningServer, { api }: Addresses): Promise<string> {
  const token = await server.admin.context.tokens.create(NAMESPACE, POOL, 'created by the first start');
  return firstSteps(`${api}/v1/${NAMESPACE}`, token);
}

/**
 * What to do first where no token exists: without one each call of the API is refused. Null if there is one, or if the
 * Redis of the tokens does not answer.
 */
export async function tokenHint(server: RunningServer, { admin }: Addresses): Promise<string | null> {
  const isEmpty = await server.admin.context.tokens.isEmpty().catch(() => false);
  if (!isEmpty) return null;
  const elsewhere = admin.endsWith(`:${String(ADMIN_PORT)}`) ? '' : ` --admin ${admin}`;
  return `no token exists yet; make one: pumphouse token create ${NAMESPACE} --description test${elsewhere}`;
}

/** The addresses of the server. */
export function addressesOf(server: RunningServer, config: Config): Addresses {
  const { laterPort } = server;
  const admin = urlOf(config.admin, server.admin.port);
  return {
    api: urlOf(config.server, server.apiPort),
    admin,
    ...(new ConsoleFiles().isThere ? { console: `${admin}/ui/` } : {}),
    ...(laterPort === null ? {} : { later: urlOf(config.later, laterPort) }),
  };
}

/** The addresses as text for the terminal. */
export function banner({ api, admin, console, later }: Addresses): string {
  const all = [
    ['console', console],
    ['API', api],
    ['admin', admin],
    ['later', later],
  ] as const;
  const lines = all.map(([name, url]) => (url === undefined ? '' : `  ${name.padEnd(7)}  ${url}\n`));
  return `Pumphouse is ready.\n${lines.join('')}`;
}

function firstSteps(url: string, token: string): string {
  const auth = `-H 'X-Token: ${token}'`;
  // "ID LEASE" of the leased job.
  const capture = `tee /dev/stderr | sed -n 's/.*"id":"\\([^"]*\\)".*"lease":\\([0-9]*\\).*/\\1 \\2/p'`;
  return [
    '',
    `The store is empty, so here is a token for the namespace ${NAMESPACE}: ${token}`,
    'Publish a job, lease it, and acknowledge it:',
    '',
    `curl -s ${auth} '${url}/jobs' -d '{"queue":"${QUEUE}","data":"hello"}' -w '\\n'`,
    `JOB=$(curl -s ${auth} '${url}/leases' -d '{"queues":["${QUEUE}"],"wait_ms":3000}' -w '\\n' | ${capture})`,
    `curl -s ${auth} "${url}/jobs/\${JOB% *}/ack" -d "{\\"lease\\":\${JOB#* }}" -w '\\n'`,
    '',
  ].join('\n');
}

/** A URL to paste. A server that listens on all addresses is reached on this machine. */
function urlOf({ host, tls_cert }: TlsListenerConfig & { host: string }, port: number): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `${tls_cert === undefined ? 'http' : 'https'}://${reachable.includes(':') ? `[${reachable}]` : reachable}:${String(port)}`;
}
