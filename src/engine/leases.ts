import { QueueError } from '../domain/errors.js';
import type { Ack, AckResult, LeasedJob, ReserveRequest } from '../domain/job.js';
import type { RedisPool } from '../redis/pool.js';
import type { Item } from '../redis/script.js';
import { fullLease } from '../redis/full-scripts.js';
import {
  ack as ackScript,
  reserve as reserveScript,
  undo as undoScript,
  type Raw,
} from '../redis/scripts.js';
import { Batcher } from './batcher.js';
import { checkAcks, checkNames, checkRequest } from './checks.js';
import { decodeReserved, type Reserved } from './decode.js';
import type { DeliveryRecords } from './delivery-records.js';
import { encodeId, mintedAtMs } from './ids.js';
import { InFlight } from './in-flight.js';
import type { EngineObserver } from './observer.js';
import { decodeFullLeases, fullItemOf } from './full/leasing.js';
import type { FullLane } from './full/full-lane.js';
import { type Settled, SETTLED } from './full/settling.js';
import { groupsOf, itemOf, type Question } from './questions.js';
import type { Batch } from './record-shelf.js';
import type { ScriptRunner } from './script-runner.js';
import { WaitingRoom } from './waiting-room.js';

/** How long a server's interest in a queue is remembered, in milliseconds: it is renewed within a second for as long as it lasts. */
const FLAG_MS = 5_000;
/** A reserve stops taking jobs at this many bytes. */
const MAX_BYTES_OUT = 4_194_304;
/** About what an acknowledgement weighs in a batch, in bytes. */
const ACK_BYTES = 100;
/** A job to take weighs in a batch as much as it costs in time: 500 of them fill a script (about 1.5 ms of Redis). */
const TAKE_WEIGHT = 524;
/** The name of a queue to look at weighs likewise: 1,000 of them fill a script. */
const NAME_WEIGHT = 262;
/** Acknowledgements that travel in one script call: a third of a millisecond of Redis, and all of a usual batch. */
const ACKS_IN_ONE = 128;
/** Stands for an id that no job can have: nothing is stored under it. */
const NO_ID = Buffer.alloc(0);
/** Codes of lua/scripts/ack.lua. */
const ACK = { missing: 0, removed: 1, refused: 2, late: 3, possible: 4, neverLeased: 5, full: 6 } as const;
/** The code of lua/scripts/undo.lua for a rich job. */
const RICH = 2;

/** What became of one acknowledgement, and when, Unix ms. */
interface Verdict {
  readonly code: number;
  readonly nowMs: number;
}

/** Gives jobs to consumers, and takes them back: reserve, acknowledge, undo. */
export class Leases {
  private readonly room: WaitingRoom;
  private readonly questions: Batcher<Question, Reserved>;
  /** Those for the full lane. */
  private readonly fullQuestions: Batcher<Question, LeasedJob[] | null>;
  private readonly acks: Batcher<Item, Verdict>;
  /** Questions and undos that Redis has not answered yet. */
  private readonly underWay = new InFlight();
  private readonly offWake: () => void;

  constructor(
    pool: RedisPool,
    private readonly runner: ScriptRunner,
    private readonly observer: EngineObserver,
    private readonly arm: (namespace: string, dueMs: number) => void,
    private readonly records: DeliveryRecords,
    private readonly full: FullLane,
  ) {
    this.questions = new Batcher((namespace, questions) => this.ask(namespace, questions));
    this.fullQuestions = new Batcher((namespace, questions) => this.askFull(namespace, questions));
    this.acks = new Batcher(async (namespace, items) => {
      const { codes, nowMs } = await runner.run(ackScript, namespace, {}, items);
      return codes.map((code) => ({ code, nowMs }));
    }, ACKS_IN_ONE);
    this.room = new WaitingRoom(
      (namespace, request) =>
        new Promise((resolve, reject) => this.take(namespace, { request, waits: true }, resolve, reject)),
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
    jobs[0]?.receipt?.arrived();
  }

  /** See `QueueEngine.ack`. */
  ack(namespace: string, queue: string, id: string, lease: number): Promise<boolean> {
    const encoded = encodeId(id);
    if (!encoded) return Promise.resolve(false);
    return new Promise((resolve, reject) => {
      this.acks.add(namespace, [[claimOf(queue, lease), encoded]], ACK_BYTES, {
        done: (verdicts, first) => {
          const verdict = verdicts[first];
          const end = (result: AckResult): void => {
            if (result === 'lease_lost') {
              reject(new QueueError('lease_lost', 'this lease is not the present one of the job'));
            } else resolve(result === 'acked');
          };
          if (verdict?.code === ACK.full) {
            this.ackFull(namespace, [{ queue, id, lease }]).then(
              ([result = 'not_found']) => end(result),
              reject,
            );
          } else end(this.judge(namespace, queue, encoded, verdict));
        },
        failed: reject,
      });
    });
  }

  /** See `QueueEngine.ackMany`. */
  async ackMany(namespace: string, acks: readonly Ack[]): Promise<AckResult[]> {
    checkAcks(namespace, acks);
    const parts: Promise<AckResult[]>[] = [];
    for (let i = 0; i < acks.length; i += ACKS_IN_ONE) {
      parts.push(this.ackPart(namespace, acks.slice(i, i + ACKS_IN_ONE)));
    }
    return (await Promise.all(parts)).flat();
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

  private take(
    namespace: string,
    question: Question,
    deliver: (jobs: LeasedJob[]) => void,
    reject: (error: unknown) => void,
  ): void {
    this.underWay.begin();
    const { request } = question;
    if (
      request.worker !== undefined ||
      request.inTurns ||
      this.full.queues.hasAny(namespace, request.queues)
    ) {
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

  private takeFull(
    namespace: string,
    question: Question,
    deliver: (jobs: LeasedJob[]) => void,
    reject: (error: unknown) => void,
  ): void {
    this.fullQuestions.add(namespace, [question], weightOf(question.request), {
      done: (found, first) => {
        const jobs = found[first];
        if (jobs) deliver(jobs);
        else this.take(namespace, question, deliver, reject);
        this.underWay.end();
      },
      failed: (error) => {
        reject(error);
        this.underWay.end();
      },
    });
  }

  private async askFull(namespace: string, questions: readonly Question[]): Promise<(LeasedJob[] | null)[]> {
    const batch = this.records.take(
      namespace,
      Math.min(...questions.map(({ request }) => request.ttrMs || Number.POSITIVE_INFINITY)),
    );
    const args = { flag_ms: FLAG_MS, max_bytes: MAX_BYTES_OUT, record: batch?.slot.field ?? '' };
    const late = (reply: Raw): void => {
      if (reply.status !== 0) return;
      const { found } = decodeFullLeases(reply.raw, questions);
      this.giveBack(
        namespace,
        found.flatMap((jobs) => jobs ?? []),
      );
    };
    const run = this.runner.run(fullLease, namespace, args, questions.map(fullItemOf), late);
    if (batch) run.catch((error: unknown) => this.records.failed(batch, error));
    const { found, expired, nextMs } = decodeFullLeases((await run).raw, questions);
    this.note(namespace, questions, found, batch);
    if (nextMs > 0) this.arm(namespace, nextMs);
    if (expired > 0) this.observer.expired(namespace, expired);
    return found;
  }

  private async ask(namespace: string, questions: readonly Question[]): Promise<Reserved[]> {
    const groups = groupsOf(questions);
    let shortestMs = Number.POSITIVE_INFINITY;
    for (const { ttrMs } of groups) shortestMs = Math.min(shortestMs, ttrMs);
    const batch = this.records.take(namespace, shortestMs);
    const args = { flag_ms: FLAG_MS, max_bytes: MAX_BYTES_OUT, record: batch?.slot.field ?? '' };
    // Whoever asked was told of failure by then: what the late reply brings goes back.
    const late = (reply: Raw): void => {
      if (reply.status !== 0) return;
      const { items } = decodeReserved(reply.raw, groups, questions.length);
      this.giveBack(
        namespace,
        items.flatMap((found) => (found === 'full' ? [] : (found ?? []))),
      );
    };
    const run = this.runner.run(reserveScript, namespace, args, groups.map(itemOf), late);
    if (batch) run.catch((error: unknown) => this.records.failed(batch, error));
    const { raw } = await run;
    const { items: found, expired } = decodeReserved(raw, groups, questions.length);
    this.note(namespace, questions, found, batch);
    if (expired > 0) this.observer.expired(namespace, expired);
    return found;
  }

  /** Arms the pump for the first of new leases to end, and says of the batch what is to arrive. */
  private note(
    namespace: string,
    questions: readonly Question[],
    found: readonly Reserved[],
    batch: Batch | undefined,
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
        firstMs = Math.min(firstMs, job.leaseEndsAtMs);
        lastMs = Math.max(lastMs, job.leaseEndsAtMs);
      }
    }
    batch?.leased(count, calls, lastMs);
    if (count > 0) this.arm(namespace, firstMs);
  }

  private ackPart(namespace: string, acks: readonly Ack[]): Promise<AckResult[]> {
    const ids = acks.map(({ id }) => encodeId(id) ?? NO_ID);
    const items = acks.map(({ queue, lease = 0 }, i): Item => [claimOf(queue, lease), ids[i] ?? NO_ID]);
    return new Promise((resolve, reject) => {
      const done = (verdicts: readonly Verdict[], first: number): void => {
        const judge = ({ queue }: Ack, i: number): AckResult =>
          this.judge(namespace, queue, ids[i] ?? NO_ID, verdicts[first + i]);
        if (acks.some((_ack, i) => verdicts[first + i]?.code === ACK.full)) {
          this.judgeMixed(namespace, acks, verdicts.slice(first, first + acks.length), judge).then(
            resolve,
            reject,
          );
        } else resolve(acks.map(judge));
      };
      this.acks.add(namespace, items, items.length * ACK_BYTES, { done, failed: reject });
    });
  }

  /** Some of the jobs are in full queues: what became of them the full lane says. */
  private async judgeMixed(
    namespace: string,
    acks: readonly Ack[],
    verdicts: readonly Verdict[],
    judge: (ack: Ack, i: number) => AckResult,
  ): Promise<AckResult[]> {
    const elsewhere = acks.filter((_ack, i) => verdicts[i]?.code === ACK.full);
    const results = await this.ackFull(namespace, elsewhere);
    return acks.map((ack, i) =>
      verdicts[i]?.code === ACK.full ? (results.shift() ?? 'not_found') : judge(ack, i),
    );
  }

  private async ackFull(namespace: string, acks: readonly Ack[]): Promise<AckResult[]> {
    const settled = await this.full.settling.say(
      namespace,
      acks.map(({ queue, id, lease = 0 }) => ({ verb: 'ack', id, lease, options: { queue } })),
    );
    return settled.map((one, i) => this.judgeSettled(namespace, acks[i], one));
  }

  private judgeSettled(namespace: string, ack: Ack | undefined, { code, nowMs }: Settled): AckResult {
    // The codes of both scripts are the same, as far as an acknowledgement goes.
    const plain = code === SETTLED.refused ? ACK.missing : code;
    return this.judge(namespace, ack?.queue ?? '', encodeId(ack?.id ?? '') ?? NO_ID, { code: plain, nowMs });
  }

  private judge(namespace: string, queue: string, id: Buffer, verdict: Verdict | undefined): AckResult {
    const { code, nowMs } = verdict ?? { code: ACK.missing, nowMs: 0 };
    if (code === ACK.refused) {
      this.observer.staleAck(namespace, 'refused');
      return 'lease_lost';
    }
    if (code === ACK.late) this.observer.staleAck(namespace, 'late');
    if (code === ACK.possible) this.observer.staleAck(namespace, 'possible');
    if (code === ACK.missing) return 'not_found';
    if (code !== ACK.neverLeased) this.observer.acked(namespace, queue, ageMs(id, nowMs));
    return 'acked';
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

/** What an acknowledgement shares with most others of its batch, as lua/scripts/ack.lua reads it. */
function claimOf(queue: string, lease: number): string {
  return `${String(lease)},${queue}`;
}

function weightOf({ count, queues }: ReserveRequest): number {
  return count * TAKE_WEIGHT + (queues.length - 1) * NAME_WEIGHT;
}

function ageMs(encodedId: Buffer, nowMs: number): number {
  const minted = mintedAtMs(encodedId);
  return minted === 0 ? 0 : Math.max(nowMs - minted, 0);
}
