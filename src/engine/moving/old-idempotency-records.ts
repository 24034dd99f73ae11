import type { IdempotencyRecord, PublishOptions } from '../../domain/job/job.js';
import type { NewExtendedJob } from '../../contract/job/extended-job.js';
import type { PublishedJob } from '../../domain/job/extended-job.js';
import { isAway } from './move-errors.js';
import {
  decodeIds,
  decodeIdempotencyRecord,
  nativeIdempotencyRecordOf,
  idempotencyRecordOf,
  type IdempotentRequest,
} from '../publish/idempotency-records.js';
import type { Engine } from '../engine.js';

/**
 * Idempotency records of a pool from before its migration. A key is only known in the pool that published with it.
 * While that pool is unavailable there are no records, and publishing continues. Records that are returned have the
 * durability in that pool that the call requests.
 */
export class OldIdempotencyRecords {
  constructor(private readonly old: Pick<Engine, 'isUp' | 'jobs'>) {}

  /**
   * The ids that a publish of the lmstfy API, or a simple one of the native API, returned; null if it has no key or
   * stored nothing.
   */
  async idsOf(
    namespace: string,
    request: IdempotentRequest,
    options: PublishOptions | undefined,
  ): Promise<string[] | null> {
    const { idempotencyRecord: given, idempotencyKey } = options ?? {};
    const record =
      given ?? (idempotencyKey === undefined ? undefined : idempotencyRecordOf(idempotencyKey, request));
    const bytes = record ? await this.find(namespace, record, options) : null;
    if (!record || !bytes) return null;
    return record.isNative
      ? decodeIdempotencyRecord(bytes).map(({ id }) => id)
      : decodeIds(bytes, request.jobs.length);
  }

  /** The result that a publish of the native API returned; null as above. */
  async jobsOf(
    namespace: string,
    jobs: readonly NewExtendedJob[],
    options: PublishOptions | undefined,
  ): Promise<PublishedJob[] | null> {
    const { idempotencyRecord: given, idempotencyKey } = options ?? {};
    const record =
      given ?? (idempotencyKey === undefined ? undefined : nativeIdempotencyRecordOf(idempotencyKey, jobs));
    const bytes = record ? await this.find(namespace, record, options) : null;
    return bytes && decodeIdempotencyRecord(bytes);
  }

  private async find(
    namespace: string,
    record: IdempotencyRecord,
    { durability, onReplay }: PublishOptions = {},
  ): Promise<Buffer | null> {
    if (!this.old.isUp) return null;
    const found = await this.old.jobs
      .findIdempotencyRecord(namespace, record, durability)
      .catch((error: unknown) => {
        if (!isAway(error)) throw error;
        return null;
      });
    if (found !== null) onReplay?.();
    return found;
  }
}
