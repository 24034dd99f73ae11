import { QueueError } from '../../domain/errors.js';
import type { Arg, Item } from '../../redis/scripts/script.js';
import { extendedPublish } from '../../redis/scripts/extended.js';
import { type BatchCall, Batcher, type ScriptRunner } from '../core/scripts.js';

/** Reply of lua/commands/extended/publish.lua. */
export type PublishReply = ReturnType<(typeof extendedPublish)['reply']>;

/** The arguments of a script for some jobs. */
type ArgsFor = (namespace: string, jobs: number) => Record<'quotas', Arg>;

/** Arguments of a call without an idempotency key, which replaces no job. */
export const ALONE = {
  replaces: Buffer.alloc(0),
  digest: Buffer.alloc(0),
  fingerprint: Buffer.alloc(0),
  ttl_ms: 0,
};

/**
 * Publishes of one turn of the event loop that share a script. It stores all jobs or none: so each call runs alone when
 * the script refuses a job of any.
 */
export class SharedPublishes {
  private readonly batchers = new Map<ScriptRunner, Batcher<Item, PublishReply>>();

  constructor(private readonly argsFor: ArgsFor) {}

  /**
   * Stores the jobs of one call.
   *
   * @param weight approximate size in bytes
   * @returns its part of the reply; without codes: nothing was stored, and the call must run alone
   */
  store(
    runner: ScriptRunner,
    namespace: string,
    items: readonly Item[],
    weight: number,
  ): Promise<PublishReply> {
    return new Promise((resolve, reject) => {
      const done = (replies: readonly PublishReply[], first: number): void => {
        const reply = replies[first];
        if (reply) resolve(partOf(reply, first, items.length));
        else reject(new QueueError('internal', 'a publish has no answer'));
      };
      this.batcherOf(runner).add(namespace, items, weight, { done, failed: reject });
    });
  }

  private batcherOf(runner: ScriptRunner): Batcher<Item, PublishReply> {
    let batcher = this.batchers.get(runner);
    if (!batcher) {
      batcher = new Batcher((namespace, items, calls) => this.send(runner, namespace, items, calls));
      this.batchers.set(runner, batcher);
    }
    return batcher;
  }

  /** @returns the reply, once for each item; without codes if the jobs of several calls were refused */
  private async send(
    runner: ScriptRunner,
    namespace: string,
    items: readonly Item[],
    calls: readonly BatchCall<Item, undefined>[],
  ): Promise<readonly PublishReply[]> {
    const args = { ...ALONE, ...this.argsFor(namespace, items.length) };
    const reply = await runner.run(extendedPublish, namespace, args, items);
    // Also if the script was sent again, because its reply was lost, and finds its jobs.
    const isRefused = /* guard: shared-refusal-is-no-answer */ reply.codes.some((code) => code !== 0);
    const answer = calls.length > 1 && isRefused ? { ...reply, codes: [] } : reply;
    return items.map(() => answer);
  }
}

/** The part of the jobs from `first` on. */
function partOf(reply: PublishReply, first: number, jobs: number): PublishReply {
  const end = first + jobs;
  return {
    ...reply,
    codes: reply.codes.slice(first, end),
    states: reply.states.slice(first, end),
    missing: reply.missing.slice(first, end),
  };
}
