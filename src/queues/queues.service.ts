import { Inject, Injectable } from '@nestjs/common';
import type { Caller } from '../domain/caller.js';
import { LOG, type Log } from '../domain/log.js';
import type { SettingsChange } from '../domain/queue-settings.js';
import { checkAllQueues, checkVerb, matchesPattern } from '../domain/rights.js';
import { EngineRegistry } from '../engine/migration/engine.registry.js';
import { QueueAdmin, type QueueView } from '../engine/queue-admin.js';

/** Queues on behalf of a caller. Every method throws `pool_moving` while the pool moves. */
@Injectable()
export class QueuesService {
  constructor(
    private readonly engines: EngineRegistry,
    @Inject(LOG) private readonly log: Log,
  ) {}

  /**
   * Returns a page of the queues that a caller may see; see `QueueAdmin.list`.
   *
   * @param after the last name of the previous page, '' = from the beginning
   */
  async list(caller: Caller, after: string, limit: number): ReturnType<QueueAdmin['list']> {
    const patterns = caller.rights?.queues ?? null;
    const isVisible = (name: string): boolean =>
      patterns === null || patterns.some((one) => matchesPattern(one, name));
    return this.adminOf(caller).list(caller.namespace, { after, limit, isVisible });
  }

  /**
   * @param pushTarget the target that its jobs are pushed to from now on; null = none, undefined = as before
   * @throws {QueueError} `target_not_found`, before anything has changed; `verb_missing`; `queue_not_allowed`: targets belong to the whole
   *   namespace, so a token for some queues may name none, as it may see none
   */
  async change(
    caller: Caller,
    queue: string,
    change: SettingsChange,
    pushTarget?: string | null,
  ): Promise<QueueView> {
    if (pushTarget !== undefined) checkVerb(caller.rights, 'push');
    // guard: target-named-for-all-queues
    if (typeof pushTarget === 'string') checkAllQueues(caller.rights);
    const view = await this.adminOf(caller).change(caller.namespace, queue, change, pushTarget);
    if (pushTarget !== undefined) this.auditPush(caller, queue, pushTarget);
    return view;
  }

  /** The operations on the queues of a caller's pool. @throws {QueueError} `pool_moving` */
  adminOf({ pool }: Caller): QueueAdmin {
    return new QueueAdmin(this.engines.forPool(pool), this.engines.recordsOf(pool));
  }

  private auditPush({ pool, namespace, tokenHint }: Caller, queue: string, target: string | null): void {
    this.log.info({ audit: 'queue.push', pool, namespace, token_hint: tokenHint, queue, target }, 'audit');
  }
}
