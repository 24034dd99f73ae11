import type { Durability } from '../domain/durability.js';
import type { OnceNote, PublishOptions } from '../domain/job.js';
import type { NewRichJob, PublishedJob } from '../domain/rich-job.js';
import { isAway } from './migrating-wait.js';
import { decodeIds, decodeNote, nativeNoteOf, noteOf, type OnceRequest } from './notes.js';
import type { Queues } from './queues.js';

/**
 * What publishes stored under their idempotency keys in a pool before it began to move: their keys are known in the pool that published
 * under them, and nowhere else. While that pool is away nothing is known, and publishing goes on. What is told of is as durable there as the
 * call asks for.
 */
export class OldNotes {
  constructor(private readonly old: Pick<Queues, 'isUp' | 'findNote'>) {}

  /** The ids that a call of lmstfy's kind, or a plain one of the native API, was answered with; null if it has no key or stored nothing. */
  async idsOf(
    namespace: string,
    request: OnceRequest,
    options: PublishOptions | undefined,
  ): Promise<string[] | null> {
    const { note: given, idempotencyKey } = options ?? {};
    const note = given ?? (idempotencyKey === undefined ? undefined : noteOf(idempotencyKey, request));
    const bytes = note ? await this.find(namespace, note, options?.durability) : null;
    if (!note || !bytes) return null;
    return note.isNative ? decodeNote(bytes).map(({ id }) => id) : decodeIds(bytes, request.jobs.length);
  }

  /** What a call of the native API was answered with; null as above. */
  async jobsOf(
    namespace: string,
    jobs: readonly NewRichJob[],
    options: PublishOptions | undefined,
  ): Promise<PublishedJob[] | null> {
    const { note: given, idempotencyKey } = options ?? {};
    const note = given ?? (idempotencyKey === undefined ? undefined : nativeNoteOf(idempotencyKey, jobs));
    const bytes = note ? await this.find(namespace, note, options?.durability) : null;
    return bytes && decodeNote(bytes);
  }

  private async find(namespace: string, note: OnceNote, durability?: Durability): Promise<Buffer | null> {
    if (!this.old.isUp) return null;
    return this.old.findNote(namespace, note, durability).catch((error: unknown) => {
      if (!isAway(error)) throw error;
      return null;
    });
  }
}
