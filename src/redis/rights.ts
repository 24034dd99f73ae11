import type { Keys } from './keys.js';
import { flatten, replyOf } from './scripts/script.js';
import { checkRights } from './scripts/simple.js';
import { scriptText } from './scripts/texts.js';
import { type Send, SetUpError } from './set-up.js';

/** Commands that scripts and servers use; a spec compares them with both, and with the rule in docs/operations.md. */
export const COMMANDS =
  'CLIENT|SETNAME DBSIZE DEL EVAL EVALSHA EXISTS GET GETRANGE HDEL HEXISTS HGET HGETALL HINCRBY HKEYS ' +
  'HLEN HMGET HRANDFIELD HSCAN HSET HSETNX HSTRLEN HVALS INFO LLEN LPOS LPUSH LRANGE LREM LSET LTRIM ' +
  'MGET MSET PERSIST PEXPIRE PEXPIREAT PING PTTL PUBLISH RENAME RPUSH SADD SCAN SCARD SELECT SET ' +
  'SETRANGE SISMEMBER SMEMBERS SRANDMEMBER SREM SSCAN STRLEN SUBSCRIBE SUNION TIME TYPE UNLINK XADD ' +
  'XRANGE XREVRANGE ZADD ZCARD ZCOUNT ZRANGE ZRANGEBYLEX ZRANGEBYSCORE ZRANK ZREM ZREMRANGEBYRANK ' +
  'ZREMRANGEBYSCORE ZREVRANGE ZREVRANGEBYSCORE ZSCAN ZSCORE';
/** Further ones in a Cluster. */
export const CLUSTER_COMMANDS = 'CLUSTER|INFO CLUSTER|MYID CLUSTER|SLOTS SPUBLISH SSUBSCRIBE SUNSUBSCRIBE';
/** Without these a server does without functions, or without a durability, or cannot raise the data format. */
export const OPTIONAL_COMMANDS =
  'CLIENT|LIST COMMAND|INFO CONFIG|GET FCALL FUNCTION|DELETE FUNCTION|LIST FUNCTION|LOAD WAIT';
/** What Redis has since 7.2, also optional. */
export const LATER_COMMANDS = 'CLIENT|SETINFO WAITAOF';

/** Arguments without which Redis cannot tell which keys these have. With SET, keys are checked. */
const NO_KEYS: Readonly<Record<string, string>> = { EVAL: ' x 0', EVALSHA: ' x 0' };
const WITH_KEYS = 'SET';

/**
 * What a pool needs, each as the command that shows it.
 *
 * @param more keys of parts of the server that not every pool has
 */
export function rightsOf(keys: Keys, isCluster: boolean, more: readonly string[]): string[] {
  const all = `${COMMANDS}${isCluster ? ` ${CLUSTER_COMMANDS}` : ''}`;
  const names = all.split(' ').filter((name) => name !== WITH_KEYS);
  const commands = names.map((name) => `${name.replace('|', ' ')}${NO_KEYS[name] ?? ''}`);
  const samples = [...keys.samples, ...more].flatMap((key) => [`GET ${key}`, `SET ${key}`]);
  const channel = isCluster ? keys.wakeChannelOf(keys.sampleNamespace) : keys.wakeChannel;
  const verbs = isCluster ? ['SSUBSCRIBE', 'SPUBLISH'] : ['SUBSCRIBE', 'PUBLISH'];
  return [...commands, ...samples, ...verbs.map((verb) => `${verb} ${channel}`)];
}

/** @throws {SetUpError} the Redis user lacks some; its message names them */
export async function requireRights(send: Send, rights: readonly string[]): Promise<void> {
  const items = rights.map((right) => [right]);
  const refused = replyOf(
    checkRights,
    await send('EVAL', scriptText(checkRights.name).text, ...flatten(checkRights, {}, {}, items)),
  );
  if (/* guard: missing-rights-are-found */ refused.length === 0) return;
  const all = new Set(refused.map((right) => right.replace(/ x 0$/, '')));
  throw new SetUpError(
    `the Redis user may not run: ${[...all].join(', ')}. docs/operations.md has the ACL rule that it needs`,
  );
}
