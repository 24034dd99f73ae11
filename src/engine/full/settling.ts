import type { JobState } from '../../domain/states.js';
import { stateOf } from '../../domain/states.js';
import { bytesAt, integerAt, type Item } from '../../redis/scripts/script.js';
import { fullSettle } from '../../redis/scripts/full.js';
import { Batcher } from '../batcher.js';
import { encodeId } from '../ids.js';
import type { ScriptRunner } from '../script-runner.js';
import type { Arm } from './arm.js';

/** What may be said of a job; see lua/scripts/full_settle.lua. */
export type Verb = 'ack' | 'release' | 'retry' | 'fail' | 'beat' | 'undo';

/** Something that is said of a job. */
export interface Word {
  readonly verb: Verb;
  readonly id: string;
  /** The lease it is said under; 0 = any, for `ack`. */
  readonly lease: number;
  /** As the verb's Lua reads them. */
  readonly options?: Readonly<Record<string, unknown>>;
  /** A result or new data. */
  readonly bytes?: Buffer | undefined;
}

/** Codes of lua/scripts/full_settle.lua. */
export const SETTLED = {
  missing: 0,
  done: 1,
  lost: 2,
  late: 3,
  possible: 4,
  neverLeased: 5,
  refused: 6,
} as const;

/** What became of it. */
export interface Settled {
  readonly code: number;
  /** In which the job is now; null = it is gone, or there was none. */
  readonly state: JobState | null;
  /** When it is due or its lease ends, Unix ms; 0 = neither. */
  readonly atMs: number;
  readonly facts: Readonly<Record<string, unknown>>;
  readonly nowMs: number;
}

/** How long the lease ran that a word has ended, in milliseconds, if the store knows it. */
export function ranOf({ ran_ms: ranMs }: Settled['facts']): number | undefined {
  return typeof ranMs === 'number' ? ranMs : undefined;
}

/** The queue that the job was in; empty if there was none. */
export function queueOf({ queue }: Settled['facts']): string {
  return typeof queue === 'string' ? queue : '';
}

const NOTHING = Buffer.alloc(0);
/** Words that travel in one script call: about a millisecond and a half of Redis. */
const WORDS_IN_ONE = 32;
/** About what a word weighs in a batch beside its bytes. */
const WORD_BYTES = 200;
/** Stands for an id that no job can have. */
const NO_ID = Buffer.alloc(0);

/** Tells the full lane what owners say of their jobs: one script call per turn of the event loop and namespace. */
export class Settling {
  private readonly batcher: Batcher<Item, Settled>;

  constructor(runner: ScriptRunner, arm: Arm) {
    this.batcher = new Batcher(async (namespace, items) => {
      const { raw, nowMs } = await runner.run(fullSettle, namespace, {}, items);
      arm(namespace, integerAt(raw, 2));
      return items.map((_item, i) => settledOf(raw, 3 + i * 4, nowMs));
    }, WORDS_IN_ONE);
  }

  /** @throws {QueueError} the store's own: then it may have happened */
  say(namespace: string, words: readonly Word[]): Promise<Settled[]> {
    const parts: Promise<Settled[]>[] = [];
    for (let i = 0; i < words.length; i += WORDS_IN_ONE) {
      parts.push(this.sayPart(namespace, words.slice(i, i + WORDS_IN_ONE)));
    }
    return Promise.all(parts).then((all) => all.flat());
  }

  /** Gives back leases whose answers reached nobody, the last one first: each goes to the front of its line, and they stand as before then. */
  async undo(
    namespace: string,
    leases: readonly { readonly id: string; readonly lease: number }[],
  ): Promise<void> {
    await this.say(namespace, leases.map(({ id, lease }): Word => ({ verb: 'undo', id, lease })).reverse());
  }

  private sayPart(namespace: string, words: readonly Word[]): Promise<Settled[]> {
    const weight = words.reduce((sum, { bytes }) => sum + WORD_BYTES + (bytes?.length ?? 0), 0);
    return new Promise((resolve, reject) => {
      this.batcher.add(namespace, words.map(itemOf), weight, {
        done: (all, first) => resolve(all.slice(first, first + words.length)),
        failed: reject,
      });
    });
  }
}

function itemOf({ verb, id, lease, options = {}, bytes = NOTHING }: Word): Item {
  return [verb, encodeId(id) ?? NO_ID, lease, JSON.stringify(options), bytes];
}

function settledOf(raw: readonly (number | Buffer)[], at: number, nowMs: number): Settled {
  const state = integerAt(raw, at + 1);
  const facts = bytesAt(raw, at + 3).toString();
  return {
    code: integerAt(raw, at),
    state: state === 0 ? null : stateOf(state),
    atMs: Math.floor(integerAt(raw, at + 2)),
    facts: facts === '' ? {} : (JSON.parse(facts) as Record<string, unknown>),
    nowMs,
  };
}
