import type { Log } from '../domain/log.js';
import type { PoolEngine } from '../engine/pool-engine.js';
import { type KnownTarget, KnownTargets } from './known-targets.js';
import { TargetWorker, type WorkerParts, type WorkerTarget } from './target-worker.js';
import type { Seal } from './seal.js';
import type { Slots } from './slots.js';
import { readTarget } from '../engine/queues/stored-targets.js';
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
  /** By namespace. */
  private readonly known = new Map<string, KnownTargets>();
  /** Workers of targets that are gone, whose requests are still under way. */
  private readonly leaving = new Set<TargetWorker>();
  private timer: NodeJS.Timeout | undefined;
  private refreshing: Promise<void> = Promise.resolve();
  private isStopped = false;

  constructor(
    private readonly engine: PoolEngine,
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
    const { targets } = this.engine;
    const namespaces = new Set(await targets.namespaces());
    for (const namespace of this.known.keys()) {
      if (!namespaces.has(namespace)) this.forget(namespace);
    }
    await Promise.all([...namespaces].map((namespace) => this.refreshOne(namespace)));
  }

  private async refreshOne(namespace: string): Promise<void> {
    const { targets } = this.engine;
    const known = this.known.get(namespace) ?? new KnownTargets();
    if ((await targets.version(namespace)) === known.version) return;
    const changes = await targets.readSince(namespace, known.version);
    if (this.isStopped) return;
    this.known.set(namespace, known);
    for (const name of known.merge(changes)) this.apply(namespace, name, known.get(name));
  }

  /** Nothing is left of it. */
  private forget(namespace: string): void {
    this.known.delete(namespace);
    for (const name of this.workers.get(namespace)?.keys() ?? []) this.apply(namespace, name, undefined);
  }

  /** Starts, renews or ends the worker of a target. */
  private apply(namespace: string, name: string, known: KnownTarget | undefined): void {
    const workers = this.workers.get(namespace) ?? new Map<string, TargetWorker>();
    const worker = workers.get(name);
    if (known?.text !== undefined && known.queues.size > 0) {
      const target = this.workerTarget(namespace, name, known.text, known);
      worker?.update(target);
      workers.set(name, worker ?? this.startWorker(namespace, name, target));
    } else if (worker) {
      workers.delete(name);
      this.leave(worker);
    }
    if (workers.size > 0) this.workers.set(namespace, workers);
    else this.workers.delete(namespace);
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

  private workerTarget(namespace: string, name: string, text: string, known: KnownTarget): WorkerTarget {
    const { target, sealed } = readTarget(text);
    const secrets = this.parts.seal.open(sealed, placeOf(namespace, name));
    if (secrets === null) {
      this.log.error(
        { namespace, target: name },
        'push: the target was encrypted with another push.key_file',
      );
    }
    return { target, secrets, queues: [...known.queues].sort(), breakers: new Map(known.breakers) };
  }

  private get log(): Log {
    return this.parts.log;
  }
}
