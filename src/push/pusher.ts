import type { Log } from '../domain/log.js';
import type { QueueEngine } from '../engine/engine.js';
import { queuesOf, type StoredTargets } from '../engine/queues/targets.js';
import { TargetWorker, type WorkerParts, type WorkerTarget } from './target-worker.js';
import type { Seal } from './seal.js';
import type { Slots } from './slots.js';
import { originBreakersOf, readBreaker, readTarget } from './target.js';
import { placeOf } from './targets.service.js';

/** How often the targets are checked for changes, in milliseconds. */
const REFRESH_MS = 1_000;

/** As long as a timer can be, in milliseconds: longer than any request. */
const LONGEST_MS = 2_147_483_647;

export type PusherParts = Omit<WorkerParts, 'engine' | 'pool' | 'namespace' | 'name' | 'slots'> & {
  readonly seal: Seal;
  readonly slots: Slots;
};

/** Pushes the jobs of one pool: a worker for each target that a queue is pushed to. */
export class Pusher {
  /** By namespace, then by target. */
  private readonly workers = new Map<string, Map<string, TargetWorker>>();
  private readonly versions = new Map<string, number>();
  /** What each worker was given last: most changes of a namespace are about other targets. */
  private readonly given = new WeakMap<TargetWorker, string>();
  /** Workers of targets that are gone, whose requests are still under way. */
  private readonly leaving = new Set<TargetWorker>();
  private timer: NodeJS.Timeout | undefined;
  private refreshing: Promise<void> = Promise.resolve();
  private isStopped = false;

  constructor(
    private readonly engine: QueueEngine,
    private readonly pool: string,
    private readonly parts: PusherParts,
  ) {}

  /** Namespaces that it pushes for. */
  get tenants(): number {
    return this.workers.size;
  }

  start(): void {
    this.refreshing = this.refreshAndPlan();
  }

  /** Requests under way have `graceMs`. */
  async stop(graceMs: number): Promise<void> {
    this.isStopped = true;
    clearTimeout(this.timer);
    await this.refreshing;
    const workers = [...this.workers.values()].flatMap((ofNamespace) => [...ofNamespace.values()]);
    await Promise.all([...workers, ...this.leaving].map((worker) => worker.stop(graceMs)));
  }

  private async refreshAndPlan(): Promise<void> {
    try {
      await this.refresh();
    } catch (error) {
      this.log.debug({ err: error }, 'push: the targets could not be read');
    }
    if (this.isStopped) return;
    this.timer = setTimeout(() => {
      this.refreshing = this.refreshAndPlan();
    }, REFRESH_MS);
  }

  private async refresh(): Promise<void> {
    const { targets } = this.engine.extended;
    const namespaces = new Set(await targets.namespaces());
    for (const namespace of this.workers.keys()) {
      if (!namespaces.has(namespace)) this.apply(namespace, null);
    }
    await Promise.all(
      [...namespaces].map(async (namespace) => {
        const version = await targets.version(namespace);
        if (version === this.versions.get(namespace)) return;
        const stored = await targets.read(namespace);
        if (this.isStopped) return;
        this.apply(namespace, stored);
        this.versions.set(namespace, stored.version);
      }),
    );
  }

  /** Starts, renews and ends workers. @param stored null: nothing is left */
  private apply(namespace: string, stored: StoredTargets | null): void {
    const workers = this.workers.get(namespace) ?? new Map<string, TargetWorker>();
    for (const [name, worker] of workers) {
      if (stored?.targets.has(name) === true && queuesOf(stored.queues, name).length > 0) continue;
      workers.delete(name);
      this.leave(worker);
    }
    for (const [name, text] of stored?.targets ?? []) {
      const all = stored as StoredTargets;
      const queues = queuesOf(all.queues, name);
      if (queues.length === 0) continue;
      const breakers = [...all.breakers].filter(([of]) => of === name || of.startsWith(`${name} `)).flat();
      const given = [text, ...breakers, ...queues].join('\n');
      const worker = workers.get(name);
      if (worker && this.given.get(worker) === given) continue;
      const known = this.workerTarget(namespace, name, text, all);
      worker?.update(known);
      const current = worker ?? this.startWorker(namespace, name, known);
      workers.set(name, current);
      this.given.set(current, given);
    }
    if (workers.size > 0) this.workers.set(namespace, workers);
    else this.workers.delete(namespace);
    if (stored === null) this.versions.delete(namespace);
  }

  private startWorker(namespace: string, name: string, known: WorkerTarget): TargetWorker {
    const { engine, pool, parts } = this;
    const slots = parts.slots.of(`${pool}/${namespace}`);
    const worker = new TargetWorker({ ...parts, engine, pool, namespace, name, slots }, known);
    worker.start();
    return worker;
  }

  /** Its requests may end, however long they take. */
  private leave(worker: TargetWorker): void {
    this.leaving.add(worker);
    void worker.stop(LONGEST_MS).finally(() => this.leaving.delete(worker));
  }

  private workerTarget(namespace: string, name: string, text: string, stored: StoredTargets): WorkerTarget {
    const { target, sealed } = readTarget(text);
    const secrets = this.parts.seal.open(sealed, placeOf(namespace, name));
    if (secrets === null) {
      this.log.error(
        { namespace, target: name },
        'push: the target was encrypted with another push.key_file',
      );
    }
    const breaker = readBreaker(stored.breakers.get(name));
    const originBreakers = originBreakersOf(stored.breakers, name);
    return { target, secrets, queues: queuesOf(stored.queues, name), breaker, originBreakers };
  }

  private get log(): Log {
    return this.parts.log;
  }
}
