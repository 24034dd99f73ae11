import type { RunningServer } from './running-server.js';
import { TokenStore } from '../auth/token-store.js';
import type { Config, TlsListenerConfig } from '../config/config.js';
import { tokenOptions } from '../config/pool-options.js';
import { PoolRegistry } from '../redis/redis.module.js';

const POOL = 'default';
const NAMESPACE = 'demo';
const QUEUE = 'mail';
/** Keys that connecting to an empty Redis makes: the version of the data format. */
const KEYS_OF_AN_EMPTY_STORE = 1;

/** True if nobody has used this server's embedded store yet. Ask before it serves. */
export async function isFirstStart(server: RunningServer, config: Config): Promise<boolean> {
  if (config.pools[POOL]?.url !== 'embedded' || tokenOptions(config) !== undefined) return false;
  const pool = server.admin.app.get(PoolRegistry, { strict: false }).get(POOL);
  const keys = Number(await pool?.read('DBSIZE'));
  return keys <= KEYS_OF_AN_EMPTY_STORE;
}

/** Makes a token for a first look, and says how to use it: lines that work when they are pasted one after the other. */
export async function welcome(server: RunningServer, config: Config): Promise<string> {
  const store = server.admin.app.get(TokenStore, { strict: false });
  const token = await store.create(NAMESPACE, POOL, 'made at the first start');
  const base = urlOf(config.server, server.apiPort);
  return firstSteps(`${base}/api/${NAMESPACE}/${QUEUE}`, token);
}

/** The addresses that the server can be reached at. */
export function addresses(server: RunningServer, config: Config): string {
  const api = urlOf(config.server, server.apiPort);
  const admin = urlOf(config.admin, server.admin.port);
  return `Pumphouse serves.\n  API    ${api}\n  admin  ${admin}\n`;
}

function firstSteps(queue: string, token: string): string {
  const auth = `-H 'X-Token: ${token}'`;
  const capture = `tee /dev/stderr | sed -n 's/.*"job_id":"\\([^"]*\\)".*/\\1/p'`;
  return [
    '',
    `The store is empty, so here is a token for the namespace ${NAMESPACE}: ${token}`,
    'Publish a job, take it, and acknowledge it:',
    '',
    `curl -s -X PUT ${auth} '${queue}' -d 'hello' -w '\\n'`,
    `JOB=$(curl -s ${auth} '${queue}?timeout=3' -w '\\n' | ${capture})`,
    `curl -s -X DELETE ${auth} "${queue}/job/$JOB" -w '%{http_code}\\n'`,
    '',
  ].join('\n');
}

/** An address to paste: one that listens everywhere is reached at this machine. */
function urlOf({ host, tls_cert }: TlsListenerConfig & { host: string }, port: number): string {
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `${tls_cert === undefined ? 'http' : 'https'}://${reachable.includes(':') ? `[${reachable}]` : reachable}:${String(port)}`;
}
