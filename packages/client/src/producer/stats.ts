import type { DayStats, Page, PageOptions, WorkerSession } from './answers.js';
import { type CallOptions, type Calls, part } from './calls.js';

/** Statistics of each day. */
export class Stats {
  constructor(private readonly calls: Calls) {}

  /** Of a queue, or of all together; of a day as `2026-11-21` (UTC), or of today. */
  get(
    filter: { readonly queue?: string | undefined; readonly day?: string | undefined } = {},
    options: CallOptions = {},
  ): Promise<DayStats> {
    return this.calls.send({ method: 'GET', path: 'stats', query: { ...filter } }, options);
  }
}

/** Worker sessions, and other workers that lease jobs under a name. */
export class Workers {
  constructor(private readonly calls: Calls) {}

  list(page: PageOptions = {}, options: CallOptions = {}): Promise<Page<WorkerSession>> {
    return this.calls.send({ method: 'GET', path: 'workers', query: { ...page } }, options);
  }

  /** @throws {PumphouseError} `worker_not_found` */
  get(name: string, options: CallOptions = {}): Promise<WorkerSession> {
    return this.calls.send({ method: 'GET', path: `workers/${part(name)}` }, options);
  }

  /** Asks a session to lease nothing more. Its next heartbeat tells it. @throws {PumphouseError} `worker_not_found` */
  quiet(name: string, options: CallOptions = {}): Promise<void> {
    return this.request(name, 'quiet', options);
  }

  /** Asks a session to shut down: `Worker.stop` of that worker. @throws {PumphouseError} `worker_not_found` */
  stop(name: string, options: CallOptions = {}): Promise<void> {
    return this.request(name, 'stop', options);
  }

  /** Forgets a worker until it is heard of again; its leases stay. */
  delete(name: string, options: CallOptions = {}): Promise<void> {
    return this.calls.remove(`workers/${part(name)}`, options);
  }

  private request(name: string, what: string, options: CallOptions): Promise<void> {
    const path = `workers/${part(name)}/${what}`;
    return this.calls.send({ method: 'POST', path, isRepeatable: true }, options);
  }
}
