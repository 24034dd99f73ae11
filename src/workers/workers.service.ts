import { Injectable } from '@nestjs/common';
import type { Caller } from '../domain/caller.js';
import { notFound } from '../domain/errors.js';
import type { ListPage, PageRequest, WorkerFacts } from '../domain/job-lists.js';
import { EngineRegistry } from '../engine/migration/engine.registry.js';
import type { Workers } from '../engine/queues/workers.js';

/** Worker sessions of a caller's namespace. */
@Injectable()
export class WorkersService {
  constructor(private readonly engines: EngineRegistry) {}

  list(caller: Caller, page: PageRequest): Promise<ListPage<WorkerFacts>> {
    return this.workers(caller).list(caller.namespace, page);
  }

  /** @throws {QueueError} `worker_not_found` */
  async find(caller: Caller, name: string): Promise<WorkerFacts> {
    const worker = await this.workers(caller).find(caller.namespace, name);
    if (worker === null) throw notFound('worker', name);
    return worker;
  }

  /** @throws {QueueError} `worker_not_found` */
  async deregister(caller: Caller, name: string): Promise<void> {
    const wasThere = await this.workers(caller).deregister(caller.namespace, name);
    if (!wasThere) throw notFound('worker', name);
  }

  private workers({ pool }: Caller): Workers {
    return this.engines.extendedOf(pool).workers;
  }
}
