import { Injectable } from '@nestjs/common';
import type { Caller } from '../domain/caller.js';
import type { DeadLetterHead } from '../domain/job/job.js';
import { EngineRegistry } from '../engine/migration/engine.registry.js';

/** The dead-letter queues of a caller's queues. */
@Injectable()
export class DeadletterService {
  constructor(private readonly engines: EngineRegistry) {}

  /** Returns the job that died first, and the number of dead jobs. */
  head({ pool, namespace }: Caller, queue: string): Promise<DeadLetterHead> {
    return this.engines.forPool(pool).deadLetterHead(namespace, queue);
  }

  /** Makes up to `limit` dead jobs ready again, oldest first, each with one try and a new ttl. @returns how many */
  respawn({ pool, namespace }: Caller, queue: string, limit: number, ttlMs: number): Promise<number> {
    return this.engines.forPool(pool).respawn(namespace, queue, limit, ttlMs);
  }

  /** Deletes up to `limit` dead jobs, oldest first. @returns how many */
  delete({ pool, namespace }: Caller, queue: string, limit: number): Promise<number> {
    return this.engines.forPool(pool).deleteDead(namespace, queue, limit);
  }
}
