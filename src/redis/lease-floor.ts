import { randomInt } from 'node:crypto';
import { Command } from 'ioredis';
import type { Keys } from './keys.js';
import { parseInfo } from './parse-info.js';
import { isRedirection } from './cluster/command.js';
import { type Arg, flatten, replyOf, type Script } from './scripts/script.js';
import { beginRun } from './scripts/simple.js';
import { scriptText } from './scripts/texts.js';
import type { Send } from './set-up.js';

/** How far the floors of two runs are apart: at least, and by chance, for runs that do not know of each other. */
const JUMP = 4_096;
const CHANCE = 4_096;
/** The floor, 4 bytes, and when the run began, Unix ms, 6 bytes: lua/modules/core/header.lua. */
const FLOOR_BYTES = 10;
/** Keys that are tried for some in slots of a node: with 1,000 masters, one of 1,000 is. */
const TRIES = 100_000;
/** The first keys in slots of a node; the slot of one may just be moved to another node. */
const KEYS = 8;

/**
 * The lowest number of a new lease in a pool. A Redis that was restored from an older file, or was a replica that lagged, has jobs with
 * lower lease numbers than it granted before, and would grant the same ones again (ADR 42). So each connection is asked for the history
 * of its data before its first command; with an unknown one a new run of the store begins, whose floor is above all numbers of the runs
 * before.
 */
export class LeaseFloor {
  private floor = 0;
  private beganMs = 0;
  /** By its key: the history of each run, and when it began. Of a Cluster each node has one. */
  private readonly runs = new Map<string, { readonly history: string; readonly beganMs: number }>();
  private argument: Buffer | '' = '';
  /** By history: the floor that the record of its run has. */
  private readonly recorded = new Map<string, number>();
  /** The history that was admitted last. */
  private current = '';
  private readonly promotions = new Set<string>();

  constructor(private readonly keys: Keys) {}

  /** Puts the floor into the arguments of a call that has a clock; each time it is sent, because the floor may have risen. */
  fill<T extends Arg[]>(
    { args: names, keys }: Pick<Script<string, string, string, unknown>, 'args' | 'keys'>,
    args: T,
  ): T {
    const at = keys.length + 1;
    // A test's clock stays.
    // guard: floor-is-put-in-when-sent
    if (names[0] === 'clock_ms' && (args[at] === '' || Buffer.isBuffer(args[at]))) args[at] = this.argument;
    return args;
  }

  /** False if the Redis of a connection was a replica meanwhile. @param facts of INFO, at least its section on replication */
  knows(facts: ReadonlyMap<string, string>): boolean {
    return !isMaster(facts) || this.promotions.has(promotionOf(facts));
  }

  /**
   * Learns the floor of a Redis, and begins a new run if its history is unknown. The floor of one history may not be used with another:
   * while a deposed master is still connected, both would grant the same numbers.
   *
   * @returns true if other connections may lead to another history, and have to be made anew
   */
  async admit(send: Send, facts: ReadonlyMap<string, string>): Promise<boolean> {
    const history = historyOf(facts);
    const isNode = facts.get('cluster_enabled') === '1';
    if (!isMaster(facts) || (isNode ? this.recorded.has(history) : this.current === history)) return false;
    const keys = isNode ? await runKeysOfNode(send, this.keys) : [this.keys.run];
    if (keys.length === 0) return false;
    const isOther = await this.begin(send, keys, history);
    this.promotions.add(promotionOf(facts));
    this.current = history;
    return isOther || !isNode;
  }

  /**
   * Begins a new run if the clock of a Redis was set back behind the beginning of the present one. Of a node of a Cluster: records a higher
   * floor of another node, which is used on all of them.
   *
   * @param send to a Redis that was admitted
   * @param nowMs its time, Unix ms
   */
  async renew(send: Send, nowMs: number, isNode: boolean): Promise<void> {
    const isBehind = nowMs < this.beganMs;
    // guard: nodes-record-the-floor-that-is-used
    const lacks = isNode && [...this.recorded.values()].some((floor) => floor < this.floor);
    // guard: clock-is-compared-with-the-run
    if (!isBehind && !lacks) return;
    const history = isNode ? historyOf(parseInfo(String(await send('INFO')))) : this.current;
    const recorded = this.recorded.get(history);
    if (recorded === undefined || (!isBehind && recorded >= this.floor)) return;
    const keys = isNode ? await runKeysOfNode(send, this.keys) : [this.keys.run];
    if (keys.length > 0) await this.begin(send, keys, history);
  }

  /**
   * @param keys the next one is used while the slot of one is moved to another node
   * @returns true if calls need other arguments from now on
   */
  private async begin(send: Send, [key = '', ...others]: string[], history: string): Promise<boolean> {
    const keys = { run: key, namespaces: key === this.keys.run ? this.keys.namespaces : key };
    const args = { identity: history, jump: JUMP + randomInt(CHANCE), known: this.floor };
    let reply: unknown;
    try {
      reply = await send('EVAL', scriptText(beginRun.name).text, ...flatten(beginRun, keys, args, []));
    } catch (error) {
      // guard: moved-record-of-a-node-has-another-key
      if (isRedirection(error) && others.length > 0) return this.begin(send, others, history);
      throw error;
    }
    const { floor, beganMs } = replyOf(beginRun, reply);
    this.recorded.delete(this.runs.get(key)?.history ?? '');
    this.recorded.set(history, floor);
    this.runs.set(key, { history, beganMs });
    return this.use(
      Math.max(this.floor, floor),
      Math.max(...[...this.runs.values()].map((run) => run.beganMs)),
    );
  }

  private use(floor: number, beganMs: number): boolean {
    if (floor === this.floor && /* guard: a-later-run-of-any-node-counts */ beganMs === this.beganMs)
      return false;
    this.floor = floor;
    this.beganMs = beganMs;
    const argument = Buffer.alloc(FLOOR_BYTES);
    argument.writeUInt32BE(floor);
    argument.writeUIntBE(beganMs, 4, FLOOR_BYTES - 4);
    this.argument = argument;
    return true;
  }
}

/** Keys in slots of a node of a Cluster, in the order in which they are tried; none if it has no slots. Then it has no jobs either. */
export async function runKeysOfNode(send: Send, keys: Keys): Promise<string[]> {
  const [id, shards] = await Promise.all([send('CLUSTER', 'MYID'), send('CLUSTER', 'SLOTS')]);
  const own = (shards as [number, number, [string, number, string]][]).filter(
    ([, , owner]) => owner[2] === id,
  );
  const found: string[] = [];
  for (let i = 0; own.length > 0 && found.length < KEYS && i < TRIES; i++) {
    const key = keys.runOfNode(i);
    const slot = new Command('get', [key]).getSlot();
    if (own.some(([first, last]) => first <= slot && slot <= last)) found.push(key);
  }
  return found;
}

function isMaster(facts: ReadonlyMap<string, string>): boolean {
  return facts.get('role') !== 'slave';
}

/** The history of a master's data: its process, and how it became a master if it was a replica before. */
function historyOf(facts: ReadonlyMap<string, string>): string {
  return `${facts.get('run_id') ?? ''} ${promotionOf(facts)}`;
}

/**
 * Which data a replica had when it was promoted, '' = it has been a master since it started. Not the id of replication itself: that of a
 * master also changes when its first replica comes.
 */
function promotionOf(facts: ReadonlyMap<string, string>): string {
  const id = facts.get('master_replid2') ?? '';
  return /^0*$/.test(id) ? '' : `${id}:${facts.get('second_repl_offset') ?? ''}`;
}
