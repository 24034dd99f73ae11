import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { PoolOptions } from '#src/domain/pool';
import { type Client, createClient, isCluster } from '#src/redis/connect';
import { parseInfo } from '#src/redis/parse-info';

/** How long a Redis may take to connect and to answer, in milliseconds. */
const ANSWER_MS = 10_000;
const NO_ID = /^0*$/;

/** End of a refusal of lmstfy's Redis as the target. */
export const STAY_THERE = 'If it is to stay there, add --same-redis.';

/** A Redis that an import reads or writes. */
export interface Place {
  /** For people, without credentials. */
  readonly text: string;
  /**
   * The run ids of its processes, and the ids of their replication: a replica has that of its master. Empty if INFO has
   * none.
   */
  readonly ids: ReadonlySet<string>;
}

/** Where a pool is, for people. */
export function textOf({ url, socketPath, sentinels, masterName, clusterNodes, db }: PoolOptions): string {
  if (url !== undefined) return textOfUrl(url, db);
  if (socketPath !== undefined) return `the embedded Redis at ${socketPath}`;
  const nodes = (sentinels ?? clusterNodes ?? [])
    .map(({ host, port }) => `${host}:${String(port)}`)
    .join(', ');
  return sentinels ? `master ${masterName ?? ''} of the sentinels ${nodes}` : `the Cluster of ${nodes}`;
}

export function textOfUrl(url: string, db?: number): string {
  const { protocol, host, pathname } = new URL(url);
  const database = db === undefined ? pathname.replace(/^\//, '') : String(db);
  return `${protocol}//${host}/${database === '' ? '0' : database}`;
}

/** The place of a connection that is open. */
export async function placeOf(text: string, client: Client): Promise<Place> {
  const nodes = isCluster(client) ? client.nodes('all') : [client];
  const answers = await Promise.allSettled(nodes.map((node) => node.info()));
  const ids = answers.flatMap((info) => {
    const facts = info.status === 'fulfilled' ? parseInfo(info.value) : new Map<string, string>();
    return [facts.get('run_id') ?? '', facts.get('master_replid') ?? ''];
  });
  return { text, ids: new Set(ids.filter((id) => !NO_ID.test(id))) };
}

/** Connects to the Redis of a pool, and writes nothing. @throws {Error} it does not answer */
export async function placeOfPool(options: PoolOptions): Promise<Place> {
  const { socketPath } = options;
  if (socketPath !== undefined && !existsSync(socketPath))
    throw new Error(
      `the target is ${textOf(options)}, which runs only while its server runs: start the server, or give --to`,
    );
  const client = createClient(options);
  client.on('error', () => undefined);
  try {
    await Promise.race([client.connect(), late()]);
    return await Promise.race([placeOf(textOf(options), client), late()]);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`the target ${textOf(options)} cannot be used: ${reason}`, { cause: error });
  } finally {
    client.disconnect();
  }
}

async function late(): Promise<never> {
  await sleep(ANSWER_MS, undefined, { ref: false });
  throw new Error(`no answer in ${String(ANSWER_MS / 1_000)} s`);
}

/**
 * Refuses an import into a Redis that it reads, under whatever name, address or database: the data would be gone when
 * lmstfy's Redis is switched off.
 *
 * @param remedy how to name another target
 * @throws {Error} it is the same Redis, or cannot be told apart
 */
export function refuseSame(what: string, target: Place, sources: readonly Place[], remedy: string): void {
  for (const source of sources) {
    if (/* guard: import-refuses-same-redis */ [...target.ids].some((id) => source.ids.has(id)))
      throw new Error(
        `${what} would go into lmstfy's own Redis: ${target.text} is ${source.text}. ${remedy}. ${STAY_THERE}`,
      );
  }
  const silent = [target, ...sources].find(({ ids }) => ids.size === 0);
  if (silent !== undefined)
    throw new Error(
      `${silent.text} shows no run_id in INFO, so it may be the same Redis as the other one. If you are sure that ${what} ` +
        'go to another one, add --same-redis.',
    );
}
