import { DependentsError, jobNotFound, QueueError } from '../../domain/errors.js';
import { bytesAt, integerAt } from '../../redis/scripts/script.js';
import { fullCancel } from '../../redis/scripts/full.js';
import { decodeId, encodeId } from '../ids.js';
import type { ScriptRunner } from '../script-runner.js';
import type { Settings } from '../settings/settings.js';
import type { Arm } from './arm.js';

/** What a cancel asks for. */
export interface CancelRequest {
  /** All that depend on the job are cancelled with it, and what depends on them. */
  readonly cascade?: boolean;
  /** How long the owner of its lease may go on; 0 = he loses it at once; left out, as the namespace's settings say. */
  readonly graceMs?: number;
}

/** What became of a cancel: `requested` = the owner of the job's lease is told, and loses it at `revokedAtMs`. */
export type Cancelled =
  | { readonly outcome: 'cancelled' | 'already_cancelled' }
  | { readonly outcome: 'requested'; readonly revokedAtMs: number };

const CODE = { missing: 0, cancelled: 1, requested: 2, done: 3, before: 4, hasDependents: 5 } as const;

/** Cancels jobs. */
export class Cancelling {
  constructor(
    private readonly runner: ScriptRunner,
    private readonly arm: Arm,
    private readonly settings: Pick<Settings, 'of'>,
  ) {}

  /**
   * Cancels a job. One that waits or is dead ends now, and is kept for its retention; the owner of a leased one hears of it with his next
   * heartbeat, and loses the job when his grace is over.
   *
   * @throws {QueueError} `job_not_found`; `job_done`: too late; or the store's own
   * @throws {DependentsError} jobs depend on it, and `cascade` was not asked for
   */
  async cancel(
    namespace: string,
    id: string,
    { cascade = false, graceMs }: CancelRequest = {},
  ): Promise<Cancelled> {
    const encoded = encodeId(id);
    if (!encoded) throw jobNotFound(id);
    const grace_ms = graceMs ?? (await this.settings.of(namespace)).grace_ms;
    const args = { id: encoded, cascade: cascade ? '1' : '0', grace_ms };
    const { raw } = await this.runner.run(fullCancel, namespace, args);
    this.arm(namespace, integerAt(raw, 2));
    switch (integerAt(raw, 3)) {
      case CODE.cancelled:
        return { outcome: 'cancelled' };
      case CODE.requested:
        return { outcome: 'requested', revokedAtMs: integerAt(raw, 4) };
      case CODE.before:
        return { outcome: 'already_cancelled' };
      case CODE.done:
        throw new QueueError('job_done', 'the job is done');
      case CODE.hasDependents:
        throw new DependentsError(raw.slice(5).map((_id, i) => decodeId(bytesAt(raw, 5 + i))));
      default:
        throw jobNotFound(id);
    }
  }
}
