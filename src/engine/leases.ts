import { QueueError } from '../domain/errors.js';
import type { LeasedJob, ReserveRequest } from '../domain/job.js';
import type { RedisPool } from '../redis/pool.js';
import {
  ack as ackScript,
  reserve as reserveScript,
  undo as undoScript,
  type Raw,
} from '../redis/scripts.js';
import { Batcher } from './batcher.js';
import { checkNames, checkRequest } from './checks.js';
import { decodeReserved, type Reserved } from './decode.js';
import { encodeId, mintedAtMs } from './ids.js';
import type { EngineObserver } from './observer.js';
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
/** Codes of lua/scripts/ack.lua. */
const ACK = { missing: 0, removed: 1, refused: 2, late: 3, possible: 4, neverLeased: 5 } as const;

interface Question {
  readonly request: ReserveRequest;
  readonly waits: boolean;
}
type AckItem = Readonly<Record<'queue' | 'id' | 'lease', string | number | Buffer>>;

/** Gives jobs to consumers, and takes them back: reserve, acknowledge, undo. */
export class Leases {
  private readonly room: WaitingRoom;
  private readonly questions: Batcher<Question, Reserved>;
  private readonly acks: Batcher<AckItem, { code: number; nowMs: number }>;
  /** Questions and undos that Redis has not answered yet. */
  private readonly underWay = new Set<Promise<unknown>>();
  private readonly offWake: () => void;

  constructor(
    pool: RedisPool,
    private readonly runner: ScriptRunner,
    private readonly observer: EngineObserver,
    private readonly arm: (namespace: string, dueMs: number) => void,
  ) {
    this.questions = new Batcher((namespace, questions) => this.ask(namespace, questions));
    this.acks = new Batcher(async (namespace, items) => {
      const { codes, nowMs } = await runner.run(ackScript, namespace, {}, items);
      return codes.map((code) => ({ code, nowMs }));
    });
    this.room = new WaitingRoom(
      (namespace, request) => this.take(namespace, request, true),
      (namespace, jobs) => this.giveBack(namespace, jobs),
      (count) => observer.waiters(count),
    );
    this.offWake = pool.onWake((namespace, queue) => this.room.wake(namespace, queue));
  }

  /** See `QueueEngine.reserve`. */
  async reserve(namespace: string, request: ReserveRequest): Promise<LeasedJob[]> {
    checkNames(namespace, request.queues);
    checkRequest(request);
    const jobs =
      request.waitMs > 0
        ? await this.room.wait(namespace, request)
        : await this.take(namespace, request, false);
    if (jobs.length > 0 && request.signal?.aborted) {
      this.giveBack(namespace, jobs);
      return [];
    }
    for (const job of jobs) this.observer.leased(namespace, job.queue, job.elapsedMs);
    return jobs;
  }

  /** See `QueueEngine.undo`. */
  async undo(namespace: string, jobs: readonly Pick<LeasedJob, 'id' | 'lease'>[]): Promise<void> {
    const items = jobs.flatMap(({ id, lease }) => {
      const encoded = encodeId(id);
      return encoded ? [{ id: encoded, lease }] : [];
    });
    const { codes } = await this.runner.run(undoScript, namespace, {}, items);
    const undone = codes.reduce((sum, code) => sum + code, 0);
    if (undone > 0) this.observer.undone(namespace, undone);
  }

  /** See `QueueEngine.ack`. */
  async ack(namespace: string, queue: string, id: string, lease: number): Promise<boolean> {
    const encoded = encodeId(id);
    if (!encoded) return false;
    const [result] = await this.acks.add(namespace, [{ queue, id: encoded, lease }], ACK_BYTES);
    const { code, nowMs } = result ?? { code: ACK.missing, nowMs: 0 };
    if (code === ACK.refused) {
      this.observer.staleAck(namespace, 'refused');
      throw new QueueError('lease_lost', 'this lease is not the present one of the job');
    }
    if (code === ACK.late) this.observer.staleAck(namespace, 'late');
    if (code === ACK.possible) this.observer.staleAck(namespace, 'possible');
    if (code === ACK.missing) return false;
    if (code !== ACK.neverLeased) this.observer.acked(namespace, queue, ageMs(encoded, nowMs));
    return true;
  }

  /** Ends every wait, now and from here on. */
  stop(): void {
    this.offWake();
    this.room.close();
  }

  /** Resolves when no lease is on its way, neither to a consumer (who may have gone meanwhile) nor back. */
  async settled(): Promise<void> {
    while (this.underWay.size > 0) {
      await Promise.allSettled(this.underWay);
      // What an answer brought to nobody is given back before we look again.
      await new Promise(setImmediate);
    }
  }

  private async take(namespace: string, request: ReserveRequest, waits: boolean): Promise<LeasedJob[]> {
    for (;;) {
      const [jobs] = await this.track(this.questions.add(namespace, [{ request, waits }], weightOf(request)));
      if (jobs) return jobs;
    }
  }

  private async ask(namespace: string, questions: readonly Question[]): Promise<Reserved[]> {
    const items = questions.map(({ request, waits }) => ({
      names: request.queues.join(','),
      count: request.count,
      ttr_ms: request.ttrMs,
      waits: waits ? '1' : '0',
    }));
    const asked = questions.map(({ request }) => request.queues);
    const args = { flag_ms: FLAG_MS, max_bytes: MAX_BYTES_OUT };
    // Whoever asked was told of failure by then: what the late reply brings goes back.
    const late = (reply: Raw): void => {
      if (reply.status !== 0) return;
      const jobs = decodeReserved(reply.raw, reply.nowMs, asked).items.flatMap((found) => found ?? []);
      this.giveBack(namespace, jobs);
    };
    const { raw, nowMs } = await this.runner.run(reserveScript, namespace, args, items, late);
    const { items: found, expired } = decodeReserved(raw, nowMs, asked);
    if (expired > 0) this.observer.expired(namespace, expired);
    let firstMs = Number.POSITIVE_INFINITY;
    for (const jobs of found) for (const job of jobs ?? []) firstMs = Math.min(firstMs, job.leaseEndsAtMs);
    if (firstMs !== Number.POSITIVE_INFINITY) this.arm(namespace, firstMs);
    return found;
  }

  /** Undoes in the background; what fails comes back when its lease runs out. */
  private giveBack(namespace: string, jobs: readonly LeasedJob[]): void {
    if (jobs.length === 0) return;
    const undo = this.undo(namespace, jobs);
    void this.track(undo).catch((error: unknown) => this.observer.loopError('undo', error));
  }

  private track<T>(work: Promise<T>): Promise<T> {
    const done = (): boolean => this.underWay.delete(work);
    this.underWay.add(work);
    work.then(done, done);
    return work;
  }
}

function weightOf({ count, queues }: ReserveRequest): number {
  return count * TAKE_WEIGHT + (queues.length - 1) * NAME_WEIGHT;
}

function ageMs(encodedId: Buffer, nowMs: number): number {
  const minted = mintedAtMs(encodedId);
  return minted === 0 ? 0 : Math.max(nowMs - minted, 0);
}
