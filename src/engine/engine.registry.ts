import { QueueError } from '../domain/errors.js';
import type { QueueEngine } from './engine.js';

/** The engines of a process, by the name of their pool. */
export class EngineRegistry {
  constructor(private readonly engines: ReadonlyMap<string, QueueEngine>) {}

  /** @throws {QueueError} `pool_not_found` */
  forPool(name: string): QueueEngine {
    const engine = this.engines.get(name);
    if (!engine) throw new QueueError('pool_not_found', 'pool not found');
    return engine;
  }

  names(): string[] {
    return [...this.engines.keys()];
  }

  all(): QueueEngine[] {
    return [...this.engines.values()];
  }
}
