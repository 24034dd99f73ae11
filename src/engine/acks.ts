import { QueueError } from '../domain/errors.js';
import type { Ack, AckResult } from '../domain/job.js';
import { isJobId } from '../domain/names.js';
import { ack as ackScript } from '../redis/scripts/plain.js';
import { runsOf } from './ack-runs.js';
import { Batcher } from './batcher.js';
import { checkAcks } from './checks.js';
import type { EventTeller } from './events/teller.js';
import { ranOf, type Settled, SETTLED, type Settling } from './full/settling.js';
import { encodeId, mintedAtMsOf } from './ids.js';
import type { EngineObserver } from './observer.js';
import type { RunClock } from './run-clock.js';
import type { ScriptRunner } from './script-runner.js';

/** About what an acknowledgement weighs in a batch, in bytes. */
const ACK_BYTES = 100;
/** Acknowledgements that travel in one script call: a third of a millisecond of Redis, and all of a usual batch. */
const ACKS_IN_ONE = 128;
/** Codes of lua/scripts/ack.lua. */
const ACK = { missing: 0, removed: 1, refused: 2, late: 3, possible: 4, neverLeased: 5, full: 6 } as const;
/** What became of one acknowledgement, and when, Unix ms. */
interface Verdict {
  readonly code: number;
  readonly nowMs: number;
  /** How long its lease ran, if the store knows it; ms. */
  readonly ranMs?: number | undefined;
}

/** Removes jobs whose work is done: those of plain queues by a script of their own, others by the full lane's. */
export class Acks {
  private readonly acks: Batcher<Ack, Verdict>;

  constructor(
    runner: ScriptRunner,
    private readonly observer: EngineObserver,
    private readonly settling: Settling,
    private readonly events: EventTeller,
    /** Knows when leases of this process began. */
    private readonly runs: RunClock,
  ) {
    this.acks = new Batcher(async (namespace, acks) => {
      const { codes, nowMs } = await runner.run(ackScript, namespace, {}, runsOf(acks));
      // One for each code: most of a batch end alike.
      const verdicts: Verdict[] = [];
      return codes.map((code) => (verdicts[code] ??= { code, nowMs }));
    }, ACKS_IN_ONE);
  }

  /** See `QueueEngine.ack`. */
  ack(namespace: string, queue: string, id: string, lease: number): Promise<boolean> {
    if (!isJobId(id)) return Promise.resolve(false);
    const ack = { queue, id, lease };
    return new Promise((resolve, reject) => {
      this.acks.add(namespace, [ack], ACK_BYTES, {
        done: (verdicts, first) => {
          const verdict = verdicts[first];
          const end = (result: AckResult): void => {
            if (result === 'lease_lost') {
              reject(new QueueError('lease_lost', 'this lease is not the present one of the job'));
            } else resolve(result === 'acked');
          };
          if (verdict?.code === ACK.full) {
            this.ackFull(namespace, [ack]).then(([result = 'not_found']) => end(result), reject);
          } else end(this.judge(namespace, ack, verdict));
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

  private ackPart(namespace: string, acks: readonly Ack[]): Promise<AckResult[]> {
    return new Promise((resolve, reject) => {
      const done = (verdicts: readonly Verdict[], first: number): void => {
        const judge = (ack: Ack, i: number): AckResult => this.judge(namespace, ack, verdicts[first + i]);
        if (acks.some((_ack, i) => verdicts[first + i]?.code === ACK.full)) {
          this.judgeMixed(namespace, acks, verdicts.slice(first, first + acks.length), judge).then(
            resolve,
            reject,
          );
        } else resolve(acks.map(judge));
      };
      this.acks.add(namespace, acks, acks.length * ACK_BYTES, { done, failed: reject });
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
    const settled = await this.settling.say(
      namespace,
      acks.map(({ queue, id, lease = 0 }) => ({ verb: 'ack', id, lease, options: { queue } })),
    );
    return settled.map((one, i) => this.judgeSettled(namespace, acks[i], one));
  }

  private judgeSettled(namespace: string, ack: Ack | undefined, { code, nowMs, facts }: Settled): AckResult {
    // The codes of both scripts are the same, as far as an acknowledgement goes.
    const plain = code === SETTLED.refused ? ACK.missing : code;
    const { queue, id } = ack ?? { queue: '', id: '' };
    const verdict = { code: plain, nowMs, ranMs: ranOf(facts) };
    return this.judge(namespace, { queue, id }, verdict, true);
  }

  /** @param isTold the script itself has told of the step to those who read events */
  private judge(
    namespace: string,
    { queue, id }: Pick<Ack, 'queue' | 'id'>,
    verdict: Verdict | undefined,
    isTold = false,
  ): AckResult {
    const { code, nowMs, ranMs } = verdict ?? { code: ACK.missing, nowMs: 0 };
    if (code === ACK.refused) {
      this.observer.staleAck(namespace, 'refused');
      return 'lease_lost';
    }
    if (code === ACK.late) this.observer.staleAck(namespace, 'late');
    if (code === ACK.possible) this.observer.staleAck(namespace, 'possible');
    if (code === ACK.missing) return 'not_found';
    if (this.events.isOn && !isTold) this.tell(namespace, queue, id, code !== ACK.neverLeased);
    if (code === ACK.neverLeased) return 'acked';
    this.observer.acked(namespace, queue, ageMs(id, nowMs));
    const runMs = ranMs ?? this.runs.end(id, nowMs);
    if (runMs >= 0) this.observer.ran(namespace, queue, runMs);
    return 'acked';
  }

  private tell(namespace: string, queue: string, id: string, wasLeased: boolean): void {
    const encoded = encodeId(id);
    if (encoded) this.events.acked(namespace, queue, encoded, wasLeased);
  }
}

function ageMs(id: string, nowMs: number): number {
  const minted = mintedAtMsOf(id);
  return minted === 0 ? 0 : Math.max(nowMs - minted, 0);
}
