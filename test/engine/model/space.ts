import type { QueueDefaults } from '../../../src/contract/queue-settings.js';
import type { JobState } from '../../../src/domain/job/states.js';
import { isLive, type Failed, type ModelJob } from './job.js';
import type { ModelOperation } from './operation.js';

/** Settings of a queue; Infinity = no limit. */
export interface ModelQueue {
  isPaused: boolean;
  isDraining: boolean;
  maxRunning: number;
  maxRunningPerKey: number;
  maxKept: number;
  leaseGraceMs: number;
  /** Jobs whose lease expired go to the front. */
  putsExpiredFirst: boolean;
  /** Jobs stored in it are in the lists by tag. */
  indexesTags: boolean;
  /** What native publishes leave out. */
  defaults: QueueDefaults;
  /** Priorities whose ready jobs are not all in publish order. */
  readonly disordered: Set<number>;
  /** Workers lease from it by type: extended jobs are in lists of their types. */
  isByType: boolean;
}

/** The holder of a unique key; and until when the key is held even if the job ends, 0 = only while the job lives. */
export interface Holding {
  readonly id: string;
  readonly endsMs: number;
}

/** A publish with an idempotency key, and what was answered to it. */
export interface KeyedPublish {
  readonly request: string;
  readonly answer: unknown;
}

/** More than a sequence has events. */
const FIRST = 1_000_000;

/**
 * The model of a namespace. Where the order is not defined (events of the same instant, for example), the model accepts
 * any. `stateOf` says what the engine did, by the state of each job.
 */
export class Space {
  readonly jobs = new Map<string, ModelJob>();
  readonly keys = new Map<string, Holding>();
  /** By API and idempotency key. */
  readonly keyed = new Map<string, KeyedPublish>();
  /** Ended jobs and how they ended, for dependents that were not updated yet. */
  readonly news = new Map<string, Failed>();
  readonly operations: ModelOperation[] = [];
  /** Settings have changed, and held jobs were not updated yet. */
  isAltered = false;
  private readonly queues = new Map<string, ModelQueue>();
  private places = 0;
  private fronts = 0;
  private counted = 0;
  isInstant = false;
  private instantFront: number | undefined;

  constructor(
    public nowMs: number,
    /** The state of a job in the engine; null = gone. */
    readonly stateOf: (id: string) => JobState | null,
  ) {}

  queue(name: string): ModelQueue {
    const known = this.queues.get(name) ?? {
      isPaused: false,
      isDraining: false,
      maxRunning: Infinity,
      maxRunningPerKey: Infinity,
      maxKept: Infinity,
      leaseGraceMs: 0,
      putsExpiredFirst: false,
      indexesTags: true,
      defaults: {},
      disordered: new Set(),
      isByType: false,
    };
    this.queues.set(name, known);
    return known;
  }

  get(id: string): ModelJob {
    const job = this.jobs.get(id);
    if (!job) throw new Error(`the model has no job ${id}`);
    return job;
  }

  live(id: string): ModelJob | undefined {
    const job = this.jobs.get(id);
    return job && isLive(job) ? job : undefined;
  }

  in(queue: string, state: JobState): ModelJob[] {
    return [...this.jobs.values()].filter((job) => job.queue === queue && job.state === state);
  }

  /** Numbers everything that has an order: publishes, and jobs that meet a limit. */
  next(): number {
    return ++this.counted;
  }

  /** The last position among the held jobs of every key; the same for all jobs of an instant. */
  heldPlace(): number {
    return this.isInstant ? this.counted : this.next();
  }

  /** A position before those, behind all that were given out before. */
  firstHeldPlace(): number {
    return this.heldPlace() - FIRST;
  }

  /** The position of a ready job among those of its priority is not known. */
  forgetPlace(job: ModelJob): void {
    job.isMoved = true;
    this.queue(job.queue).disordered.add(job.priority);
  }

  /** The last position of every ready list; the same for all jobs of an instant. */
  backPlace(): number {
    return this.isInstant ? this.places : ++this.places;
  }

  frontPlace(): number {
    return --this.fronts;
  }

  /** The first position of every ready list for jobs whose lease expired; the same for all of an instant. */
  expiredPlace(): number {
    if (!this.isInstant) return this.frontPlace();
    this.instantFront ??= this.frontPlace();
    return this.instantFront;
  }

  /** Everything in `act` happens in the same instant. */
  inOneInstant(act: () => void): void {
    this.places++;
    this.counted++;
    this.isInstant = true;
    act();
    this.isInstant = false;
    this.instantFront = undefined;
  }
}
