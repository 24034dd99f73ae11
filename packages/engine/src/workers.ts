import type { Page, PageOptions, WorkerSession } from '@pumphouse/client';
import { toShown } from '#src/contract/fields/wire';
import { WorkerAnswer, type WorkerFacts, workerFacts } from '#src/contract/workers';
import { notFound } from '#src/domain/errors';
import type { Engine, SessionCalls } from '#src/engine/engine';
import { type CallOptions, repeat, repeatRemoval } from './calls.js';

const PAGE = 100;

/** Worker sessions of the namespace, of this process and of all others: the methods that `workers` of the HTTP client has. */
export class EngineWorkers {
  private readonly sessions: SessionCalls;

  constructor(
    engine: Engine,
    private readonly namespace: string,
  ) {
    this.sessions = engine.sessions;
  }

  list(
    { limit = PAGE, cursor }: PageOptions = {},
    { signal }: CallOptions = {},
  ): Promise<Page<WorkerSession>> {
    return repeat(async () => {
      const page = await this.sessions.list(this.namespace, { limit, cursor });
      return { items: page.items.map(sessionOf), nextCursor: page.cursor };
    }, signal);
  }

  /** @throws {PumphouseError} `worker_not_found` */
  get(name: string, { signal }: CallOptions = {}): Promise<WorkerSession> {
    return repeat(async () => {
      const found = await this.sessions.find(this.namespace, name);
      if (found === null) throw notFound('worker', name);
      return sessionOf(found);
    }, signal);
  }

  /** Asks a session to lease nothing more. Its next heartbeat tells it. @throws {PumphouseError} `worker_not_found` */
  quiet(name: string, { signal }: CallOptions = {}): Promise<void> {
    return repeat(() => this.sessions.quiet(this.namespace, name), signal);
  }

  /** Asks a session to shut down: `Worker.stop` of that worker. @throws {PumphouseError} `worker_not_found` */
  stop(name: string, { signal }: CallOptions = {}): Promise<void> {
    return repeat(() => this.sessions.stop(this.namespace, name), signal);
  }

  /** Forgets a worker until it is heard of again; its leases stay. @throws {PumphouseError} `worker_not_found` */
  delete(name: string, { signal }: CallOptions = {}): Promise<void> {
    const remove = async (): Promise<void> => {
      if (!(await this.sessions.deregister(this.namespace, name))) throw notFound('worker', name);
    };
    return repeatRemoval('worker_not_found', remove, signal);
  }
}

function sessionOf(worker: WorkerFacts): WorkerSession {
  return toShown(WorkerAnswer, workerFacts(worker));
}
