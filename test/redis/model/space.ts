import type { JobState } from '../../../src/domain/states.js';
import { isLive, type ModelJob } from './job.js';

/** What is set of a queue; Infinity = no limit. */
export interface ModelQueue {
  isPaused: boolean;
  isDraining: boolean;
  maxRunning: number;
  maxRunningPerKey: number;
  maxKept: number;
  /** Priorities whose jobs do not all stand in the order of their publishes. */
  readonly disordered: Set<number>;
}

/** Who holds a unique key; until when whatever becomes of the job, 0 = as long as it lives. */
export interface Holding {
  readonly id: string;
  readonly endsMs: number;
}

/**
 * A namespace as the model knows it. Where the order of things is nobody's promise (what happens in the same instant, say), the model
 * takes any; `stateOf` tells which it was, by what the job came to.
 */
export class Space {
  readonly jobs = new Map<string, ModelJob>();
  readonly keys = new Map<string, Holding>();
  /** Jobs that ended, and how: those that depend on them have not heard of it yet. */
  readonly news = new Map<string, string>();
  /** Settings have changed: those that limits hold up have not heard of it yet. */
  isAltered = false;
  private readonly queues = new Map<string, ModelQueue>();
  private places = 0;
  private fronts = 0;
  private counted = 0;
  private isInstant = false;

  constructor(
    public nowMs: number,
    /** In which state a job really is now; null = gone. */
    readonly stateOf: (id: string) => JobState | null,
  ) {}

  queue(name: string): ModelQueue {
    const known = this.queues.get(name) ?? {
      isPaused: false,
      isDraining: false,
      maxRunning: Infinity,
      maxRunningPerKey: Infinity,
      maxKept: Infinity,
      disordered: new Set(),
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

  /** Counts whatever has an order of its own: publishes, and jobs that meet a limit. */
  next(): number {
    return ++this.counted;
  }

  /** The last place of any line; during an instant the same one for all. */
  backPlace(): number {
    return this.isInstant ? this.places : ++this.places;
  }

  frontPlace(): number {
    return --this.fronts;
  }

  /** What happens in `act` happens at once. */
  inOneInstant(act: () => void): void {
    this.places++;
    this.isInstant = true;
    act();
    this.isInstant = false;
  }
}
