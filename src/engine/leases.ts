import type { LeasedJob, ReserveRequest } from '../domain/job.js';
import type { RedisPool } from '../redis/pool.js';
import { integerAt, type Item } from '../redis/scripts/script.js';
import { fullLease } from '../redis/scripts/full.js';
import { renew, reserve as reserveScript, undo as undoScript, type Raw } from '../redis/scripts/plain.js';
import { Batcher } from './batcher.js';
import { checkNames, checkRequest } from './checks.js';
import { decodeReserved, type Reserved } from './decode.js';
import type { DeliveryRecords } from './delivery-records.js';
import type { EventTeller } from './events/teller.js';
import { encodeId } from './ids.js';
import { InFlight } from './in-flight.js';
import type { EngineObserver } from './observer.js';
import { decodeFullLeases, fullItemOf } from './full/leasing.js';
import { partOf, restOf, weightOfPart } from './full/parts.js';
import type { FullLane } from './full/full-lane.js';
import { groupsOf, itemOf, type Question } from './questions.js';
import type { Batch } from './record-shelf.js';
import { RunClock } from './run-clock.js';
import type { ScriptRunner } from './script-runner.js';
import { WaitingRoom } from './waiting-room.js';

/** How long a server's interest in a queue is remembered, in milliseconds: it is renewed within a second for as long as it lasts. */
const FLAG_MS = 5_000;
/** A reserve stops taking jobs at this many bytes. */
const MAX_BYTES_OUT = 4_194_304;
/** A job to take weighs in a batch as much as it costs in time: 500 of them fill a script (about 1.5 ms of Redis). */
const TAKE_WEIGHT = 524;
/** The name of a queue to look at weighs likewise: 1,000 of them fill a script. */
const NAME_WEIGHT = 262;
/** The code of lua/scripts/undo.lua for a rich job. */
const RICH = 2;

/** What a script that leases answered, Unix ms, and the record of its answers. */
interface LeaseAnswer {
  readonly raw: Raw['raw'];
  readonly nowMs: number;
  readonly batch: Batch | undefined;
}

/** Gives jobs to consumers, and takes leases back that reached nobody. */
export class Leases {
  private readonly room: WaitingRoom;
  private readonly questions: Batcher<Question, Reserved>;
  /** Those for the full lane. */
  private readonly fullQuestions: Batcher<Question, LeasedJob[] | null>;
  /** Questions and undos that Redis has not answered yet. */
  private readonly underWay = new InFlight();
  /** When leases began, for who hears of their ends. */
  readonly runs = new RunClock();
  private readonly offWake: () => void;

  constructor(
    pool: RedisPool,
    private readonly runner: ScriptRunner,
    private readonly observer: EngineObserver,
    private readonly arm: (namespace: string, dueMs: number) => void,
    private readonly records: DeliveryRecords,
    private readonly full: FullLane,
    private readonly events: EventTeller,
  ) {
    this.questions = new Batcher((namespace, questions) => this.ask(namespace, questions));
    this.fullQuestions = new Batcher((namespace, questions) => this.askFull(namespace, questions));
    this.room = new WaitingRoom(
      (namespace, request, seats, hand) => this.takeSeats(namespace, { request, waits: true }, seats, hand),
      (namespace, queues) => this.look(namespace, queues),
      (namespace, request) => !this.isForFull(namespace, request),
      (namespace, jobs) => this.giveBack(namespace, jobs),
      (count) => observer.waiters(count),
      (namespace, isWaiting) => (isWaiting ? pool.follow(namespace) : pool.unfollow(namespace)),
    );
    this.offWake = pool.onWake((namespace, queue) =>
      queue === null ? this.room.wakeAll(namespace) : this.room.wake(namespace, queue),
    );
  }

  /** See `QueueEngine.reserve`. */
  reserve(namespace: string, request: ReserveRequest): Promise<LeasedJob[]> {
    return new Promise((resolve, reject) => {
      checkNames(namespace, ...request.queues);
      checkRequest(request);
      const deliver = (jobs: LeasedJob[]): void => resolve(this.deliver(namespace, request, jobs));
      if (request.waitMs > 0) this.room.wait(namespace, request).then(deliver, reject);
      else this.take(namespace, { request, waits: false }, deliver, reject);
    });
  }

  /** See `QueueEngine.undo`. */
  async undo(namespace: string, jobs: readonly Pick<LeasedJob, 'id' | 'lease' | 'receipt'>[]): Promise<void> {
    const items = jobs.flatMap(({ id, lease }) => {
      const encoded = encodeId(id);
      return encoded ? [[encoded, lease]] : [];
    });
    const { codes } = await this.runner.run(undoScript, namespace, {}, items);
    const undone = codes.reduce((sum, code) => sum + (code === 1 ? 1 : 0), 0);
    const rich = jobs.filter((_job, i) => codes[i] === RICH);
    if (rich.length > 0) await this.full.settling.undo(namespace, rich);
    if (undone + rich.length > 0) this.observer.undone(namespace, undone + rich.length);
    for (const receipt of new Set(jobs.map((job) => job.receipt))) receipt?.arrived();
  }

  /** Ends every wait, now and from here on. */
  stop(): void {
    this.offWake();
    this.room.close();
  }

  /** Resolves when no lease is on its way, neither to a consumer (who may have gone meanwhile) nor back. */
  settled(): Promise<void> {
    return this.underWay.idle();
  }

  /** For a consumer who is still there; else the jobs go back, and there is nobody to tell. */
  private deliver(namespace: string, { signal }: ReserveRequest, jobs: LeasedJob[]): LeasedJob[] {
    if (jobs.length > 0 && signal?.aborted) {
      this.giveBack(namespace, jobs);
      return [];
    }
    for (const job of jobs) this.observer.leased(namespace, job.queue, job.elapsedMs);
    return jobs;
  }

  private isForFull(namespace: string, { worker, inTurns, queues }: ReserveRequest): boolean {
    return worker !== undefined || inTurns === true || this.full.queues.hasAny(namespace, queues);
  }

  private take(
    namespace: string,
    question: Question,
    deliver: (jobs: LeasedJob[]) => void,
    reject: (error: unknown) => void,
  ): void {
    this.underWay.begin();
    const { request } = question;
    if (this.isForFull(namespace, request)) {
      this.takeFull(namespace, question, deliver, reject);
      return;
    }
    this.questions.add(namespace, [question], weightOf(request), {
      done: (found, first) => {
        const jobs = found[first];
        if (jobs === 'full') this.full.queues.add(namespace, request.queues);
        if (jobs && jobs !== 'full') deliver(jobs);
        else this.take(namespace, question, deliver, reject);
        // Last: had it thrown before, `failed` would come and end it.
        this.underWay.end();
      },
      failed: (error) => {
        reject(error);
        this.underWay.end();
      },
    });
  }

  /** For several who ask alike: `hand` hears what each got. Rejects when all were answered, if one of them failed. */
  private takeSeats(
    namespace: string,
    question: Question,
    seats: number,
    hand: (jobs: LeasedJob[]) => void,
  ): Promise<void> {
    return new Promise((resolve, reject) => {
      let open = seats;
      let failure: Error | null = null;
      const end = (): void => {
        if (--open > 0) return;
        if (failure === null) resolve();
        else reject(failure);
      };
      const take = (jobs: LeasedJob[]): void => {
        hand(jobs);
        end();
      };
      const fail = (error: unknown): void => {
        failure = error instanceof Error ? error : new Error('the question failed', { cause: error });
        end();
      };
      for (let i = 0; i < seats; i++) this.take(namespace, question, take, fail);
    });
  }

  private takeFull(
    namespace: string,
    question: Question,
    deliver: (jobs: LeasedJob[]) => void,
    reject: (error: unknown) => void,
  ): void {
    const part = partOf(question);
    this.fullQuestions.add(namespace, [part], weightOfPart(part), {
      done: (found, first) => {
        const jobs = found[first];
        const rest = jobs ? restOf(question, jobs) : null;
        if (!jobs) this.take(namespace, question, deliver, reject);
        else if (rest) this.takeRest(namespace, rest, jobs, deliver);
        else deliver(jobs);
        this.underWay.end();
      },
      failed: (error) => {
        reject(error);
        this.underWay.end();
      },
    });
  }

  /** Those who have jobs in hand do not care if there are no more to be had, or why. */
  private takeRest(
    namespace: string,
    rest: Question,
    jobs: readonly LeasedJob[],
    deliver: (jobs: LeasedJob[]) => void,
  ): void {
    const end = (more: readonly LeasedJob[]): void => deliver([...jobs, ...more]);
    this.take(namespace, rest, end, () => end([]));
  }

  /** Says again that this server waits. @returns places, from 0, of the queues that may have jobs */
  private async look(namespace: string, queues: readonly string[]): Promise<number[]> {
    const names = queues.map((queue): Item => [queue]);
    const { raw } = await this.runner.run(renew, namespace, { flag_ms: FLAG_MS }, names);
    return raw.slice(2).map((_place, i) => integerAt(raw, i + 2) - 1);
  }

  private async askFull(namespace: string, questions: readonly Question[]): Promise<(LeasedJob[] | null)[]> {
    const shortestMs = Math.min(...questions.map(({ request }) => request.ttrMs || Number.POSITIVE_INFINITY));
    const items = questions.map(fullItemOf);
    const answer = await this.runLease(namespace, fullLease, items, shortestMs, (late) =>
      decodeFullLeases(late, questions).found.flatMap((jobs) => jobs ?? []),
    );
    const { found, expired, nextMs } = decodeFullLeases(answer.raw, questions);
    this.note(namespace, questions, found, answer);
    if (nextMs > 0) this.arm(namespace, nextMs);
    if (expired > 0) this.observer.expired(namespace, expired);
    return found;
  }

  private async ask(namespace: string, questions: readonly Question[]): Promise<Reserved[]> {
    const groups = groupsOf(questions);
    let shortestMs = Number.POSITIVE_INFINITY;
    for (const { ttrMs } of groups) shortestMs = Math.min(shortestMs, ttrMs);
    const items = groups.map(itemOf);
    const answer = await this.runLease(namespace, reserveScript, items, shortestMs, (late) =>
      decodeReserved(late, groups, questions.length).items.flatMap((found) =>
        found === 'full' ? [] : (found ?? []),
      ),
    );
    const { items: found, expired } = decodeReserved(answer.raw, groups, questions.length);
    this.note(namespace, questions, found, answer);
    if (this.events.isOn) this.events.leased(namespace, found);
    if (expired > 0) this.observer.expired(namespace, expired);
    return found;
  }

  /**
   * Runs a script that leases, under a record that lasts until its answers have left.
   *
   * @param jobsOf reads the leases of a reply that came too late: whoever asked was told of failure by then, so they go back
   */
  private async runLease(
    namespace: string,
    script: typeof reserveScript | typeof fullLease,
    items: readonly Item[],
    shortestMs: number,
    jobsOf: (raw: Raw['raw']) => LeasedJob[],
  ): Promise<LeaseAnswer> {
    const batch = this.records.take(namespace, shortestMs);
    const args = { flag_ms: FLAG_MS, max_bytes: MAX_BYTES_OUT, record: batch?.slot.field ?? '' };
    const late = (reply: Raw): void => {
      if (reply.status === 0) this.giveBack(namespace, jobsOf(reply.raw));
    };
    const run = this.runner.run(script as typeof reserveScript, namespace, args, items, late);
    if (batch) run.catch((error: unknown) => this.records.failed(batch, error));
    const { raw, nowMs } = await run;
    return { raw, nowMs, batch };
  }

  /** Arms the pump for the first of new leases to end, and says of the batch what is to arrive. */
  private note(
    namespace: string,
    questions: readonly Question[],
    found: readonly Reserved[],
    { nowMs, batch }: LeaseAnswer,
  ): void {
    let [calls, count, firstMs, lastMs] = [0, 0, Number.POSITIVE_INFINITY, 0];
    for (let i = 0; i < found.length; i++) {
      const jobs = found[i];
      if (!jobs || jobs === 'full' || jobs.length === 0) continue;
      const confirms = questions[i]?.request.confirms === true;
      if (confirms) calls++;
      count += jobs.length;
      for (const job of jobs) {
        if (confirms) job.receipt = batch;
        this.runs.begin(job.id, nowMs, job.leaseEndsAtMs);
        firstMs = Math.min(firstMs, job.leaseEndsAtMs);
        lastMs = Math.max(lastMs, job.leaseEndsAtMs);
      }
    }
    batch?.leased(count, calls, lastMs);
    if (count > 0) this.arm(namespace, firstMs);
  }

  /** Undoes in the background; what fails comes back when its lease runs out. */
  private giveBack(namespace: string, jobs: readonly LeasedJob[]): void {
    if (jobs.length === 0) return;
    this.underWay.begin();
    this.undo(namespace, jobs)
      .catch((error: unknown) => this.observer.loopError('undo', error))
      .finally(() => this.underWay.end());
  }
}

function weightOf({ count, queues }: ReserveRequest): number {
  return count * TAKE_WEIGHT + (queues.length - 1) * NAME_WEIGHT;
}
