import { DATA_FORMAT, RAISED_TO } from '../domain/data-format.js';
import { isCluster, type Client } from './connect.js';
import { faultOf } from './errors.js';
import type { Keys } from './keys.js';

/** The name of the connections of servers that write format 3 or an older one. */
const OLDER_NAME = 'pumphouse';

/** The store was written by a later version of the server: this one must not change it. */
export class NewerFormatError extends Error {}

/** Servers of an older version are connected, or may be: they would not see what the newer format has. */
export class OlderServersError extends Error {}

/** @returns the format that the store has now. @throws {NewerFormatError} it is newer than ours */
export async function checkFormat(client: Client, keys: Keys): Promise<number> {
  const found = await client.get(keys.format);
  if (found === null) {
    await client.set(keys.format, DATA_FORMAT, 'NX');
    return Number(await client.get(keys.format));
  }
  if (/* guard: older-format-is-raised */ Number(found) < /* guard: format-raised */ RAISED_TO) {
    await write(client, keys);
    return RAISED_TO;
  }
  if (/* guard: newer-format-is-refused */ Number(found) > DATA_FORMAT) {
    throw new NewerFormatError(
      `this Redis holds data format ${found}, which is newer than this server's ${String(DATA_FORMAT)}`,
    );
  }
  return Number(found);
}

/**
 * A store that accepts no writes now must be opened all the same, or it could never be drained: the next inspection
 * tries again.
 */
async function write(client: Client, keys: Keys): Promise<void> {
  try {
    await client.set(keys.format, RAISED_TO);
  } catch (error) {
    const fault = faultOf(error);
    // guard: full-redis-of-older-format-opens
    if (fault !== 'full' && fault !== 'disk') throw error;
  }
}

/**
 * Raises the format of a store to ours, for good: servers of older versions do not start on it any more.
 *
 * @throws {OlderServersError} one is connected to a node, or Redis does not say who is
 */
export async function raiseFormat(client: Client, keys: Keys): Promise<void> {
  if ((await checkFormat(client, keys)) === DATA_FORMAT) return;
  const nodes = isCluster(client) ? client.nodes('all') : [client];
  const lists = await Promise.all(
    nodes.map((node) =>
      node.call('CLIENT', 'LIST').catch((error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error);
        throw new OlderServersError(`Redis does not say which servers are connected: ${reason}`);
      }),
    ),
  );
  const older = lists.flatMap((list) =>
    String(list)
      .split('\n')
      .filter(
        (line) => /* guard: older-servers-keep-the-format */ / name=(\S*)/.exec(line)?.[1] === OLDER_NAME,
      )
      .map((line) => / addr=(\S*)/.exec(line)?.[1] ?? ''),
  );
  if (older.length > 0)
    throw new OlderServersError(
      `servers of an older version are connected, from ${[...new Set(older)].slice(0, 5).join(', ')}: stop them first`,
    );
  await client.set(keys.format, DATA_FORMAT);
}
