/** Time goes on in fractions of a millisecond, so that of two events of this process it is known which was first. */
const OFFSET_MS = Date.now() - performance.now();

/** Unix ms by this machine's clock, which is Redis's too. */
export function nowMs(): number {
  return OFFSET_MS + performance.now();
}

/** What a call may do to one job, or to all jobs of a queue. */
export interface Effects {
  /** It may end a lease. */
  readonly ends?: boolean;
  /** It may store a job under this id. */
  readonly publishes?: boolean;
  /** It may take the job away, or let it go some time. */
  readonly removes?: boolean;
  /** It may lead the job to another queue. */
  readonly moves?: boolean;
}

/** A call as it concerns one job. Times are Unix ms. */
export interface Operation {
  readonly seq: number;
  readonly about: string;
  readonly text: string;
  sentMs: number;
  /** When its effects are over at the latest; infinite while it is under way. */
  untilMs: number;
  effects: Effects;
  /** It did what it was asked for, for sure. */
  isDone: boolean;
  /** And the job is gone by it. */
  isEnd: boolean;
  outcome: string;
}

/** So long a call whose client has gone may still work on, in ms: the server's time for a command of Redis, and more. */
const AFTERMATH_MS = 3_000;
const SHOWN = 20;

/** For each job, the calls that concern it in the order in which they were sent. */
export class JobLog {
  private readonly operations = new Map<string, Operation[]>();
  private seq = 0;

  /** @param about a job's id, or `queue <name>` for all jobs of a queue */
  begin(about: string, text: string, effects: Effects): Operation {
    const operation: Operation = {
      ...{ seq: this.seq++, about, text, effects, outcome: 'under way', isDone: false, isEnd: false },
      ...{ sentMs: nowMs(), untilMs: Number.POSITIVE_INFINITY },
    };
    this.of(about).push(operation);
    return operation;
  }

  done(operation: Operation, outcome: string, isEnd: boolean): void {
    Object.assign(operation, { untilMs: nowMs(), outcome, isDone: true, isEnd });
  }

  /** It was answered, and may have done something or nothing. */
  answered(operation: Operation, outcome: string): void {
    Object.assign(operation, { untilMs: nowMs(), outcome });
  }

  /** It did nothing. */
  refused(operation: Operation, outcome: string): void {
    Object.assign(operation, { untilMs: nowMs(), outcome, effects: {} });
  }

  /** Its effect is unknown, and it may still happen. */
  unknown(operation: Operation, outcome: string): void {
    Object.assign(operation, { untilMs: nowMs() + AFTERMATH_MS, outcome });
  }

  of(about: string): Operation[] {
    const found = this.operations.get(about);
    if (found !== undefined) return found;
    const list: Operation[] = [];
    this.operations.set(about, list);
    return list;
  }

  /** Jobs and queues that some call was about. */
  subjects(): Iterable<string> {
    return this.operations.keys();
  }

  /** Whether a call with this effect on the job, or on its queue, may have worked in a stretch of time. */
  has(
    effect: keyof Effects,
    id: string,
    queue: string | null,
    fromMs: number,
    toMs: number,
    but?: Operation,
  ): boolean {
    const lists = queue === null ? [this.of(id)] : [this.of(id), this.of(`queue ${queue}`)];
    return lists.some((list) =>
      list.some(
        (one) => one !== but && one.effects[effect] === true && one.sentMs <= toMs && one.untilMs >= fromMs,
      ),
    );
  }

  /** The last calls that concern a job, as text, with those that had an effect on its queues meanwhile. */
  tail(id: string, queues: readonly string[], sinceMs: number): string {
    const own = this.of(id).toSorted(inOrder).slice(-SHOWN);
    const fromMs = own[0]?.sentMs ?? 0;
    const others = queues
      .flatMap((queue) => this.of(`queue ${queue}`))
      .filter(({ sentMs, effects }) => sentMs >= fromMs && Object.values(effects).includes(true));
    return [...own, ...others]
      .sort(inOrder)
      .map(({ sentMs, untilMs, text, outcome }) => {
        const took = Number.isFinite(untilMs) ? `${(untilMs - sentMs).toFixed(1)} ms` : 'open';
        return `    ${(sentMs - sinceMs).toFixed(1)} ms (${took}) ${text} → ${outcome}`;
      })
      .join('\n');
  }
}

function inOrder(one: Operation, other: Operation): number {
  return one.sentMs - other.sentMs;
}
