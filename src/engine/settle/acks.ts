import { LeaseLostError } from '../../domain/errors.js';
import type { Ack, AckResult } from '../../domain/job/job.js';
import type { JobState } from '../../domain/job/states.js';
import { isJobId } from '../../domain/ids.js';
import { ack as ackScript } from '../../redis/scripts/simple.js';
import { runsOf } from './ack-runs.js';
import { Batcher, type ScriptRunner } from '../core/scripts.js';
import { checkAcks } from '../core/checks.js';
import type { EventWriter } from '../events/writer.js';
import { ageOf, queueOf, ranOf, SETTLED, type Settled, type Settler } from './settler.js';
import { encodeId, mintedAtMsOf } from '../core/ids.js';
import type { EngineObserver } from '../core/observer.js';
import type { LeaseDurations } from './lease-durations.js';

/** Approximate size of an acknowledgement in a batch, in bytes. */
const ACK_BYTES = 100;
/** Acknowledgements in one script call: a third of a millisecond of Redis, and all of a typical batch. */
const ACKS_IN_ONE = 128;
/** Codes of lua/commands/simple/ack.lua. */
const ACK = {
  missing: 0,
  removed: 1,
  refused: 2,
  late: 3,
  possible: 4,
  neverLeased: 5,
  isExtended: 6,
} as const;
/** Result of one acknowledgement, and its time, Unix ms. */
interface Verdict {
  readonly code: number;
  readonly nowMs: number;
  /** How long its lease ran, if the store knows it; ms. */
  readonly ranMs?: number | undefined;
  /** How old the job was, if the store returns it; ms. */
  readonly ageMs?: number | undefined;
  /** The queue of the job, if the acknowledgement names none. */
  readonly queue?: string | undefined;
}

/** What acknowledging needs of the extended path. */
export interface ExtendedAcks {
  readonly settler: Pick<Settler, 'settle'>;
  /** The present states of jobs, in order; null = it is gone. */
  placesOf(namespace: string, ids: readonly string[]): Promise<({ readonly state: JobState } | null)[]>;
}

/** Removes jobs that are done: those of simple queues with a script of its own, others on the extended path. */
export class Acks {
  private readonly acks: Batcher<Ack, Verdict>;

  constructor(
    runner: ScriptRunner,
    private readonly observer: EngineObserver,
    private readonly extended: ExtendedAcks,
    private readonly events: EventWriter,
    /** Start times of the leases of this process. */
    private readonly durations: LeaseDurations,
  ) {
    this.acks = new Batcher(async (namespace, acks) => {
      const { codes, nowMs, texts } = await runner.run(ackScript, namespace, {}, runsOf(acks));
      // One object per code: most acknowledgements of a batch have the same result.
      const verdicts: Verdict[] = [];
      let unnamed = 0;
      return codes.map((code, i) =>
        acks[i]?.queue === undefined
          ? { code, nowMs, queue: texts[unnamed++]?.toString() }
          : (verdicts[code] ??= { code, nowMs }),
      );
    }, ACKS_IN_ONE);
  }

  /** See `EngineCalls.ack`. */
  ack(namespace: string, queue: string, id: string, lease: number): Promise<boolean> {
    if (!isJobId(id) || queue === '') return Promise.resolve(false);
    const ack = { queue, id, lease };
    return new Promise((resolve, reject) => {
      const end = (result: AckResult = 'not_found'): void => {
        if (result === 'lease_lost') {
          this.extended.placesOf(namespace, [id]).then(([place = null]) => {
            const state = place?.state ?? null;
            reject(new LeaseLostError(/* guard: lost-ack-shows-state */ state));
          }, reject);
        } else resolve(result === 'acked');
      };
      const endExtended = (): void => {
        this.ackExtended(namespace, [ack]).then(([result]) => end(result), reject);
      };
      if (this.durations.isExtended(id)) {
        endExtended();
        return;
      }
      this.acks.add(namespace, [ack], ACK_BYTES, {
        done: (verdicts, first) => {
          const verdict = verdicts[first];
          if (verdict?.code === ACK.isExtended) endExtended();
          else end(this.judge(namespace, ack, verdict));
        },
        failed: reject,
      });
    });
  }

  /** See `EngineCalls.ackMany`. */
  async ackMany(namespace: string, acks: readonly Ack[]): Promise<AckResult[]> {
    checkAcks(namespace, acks);
    const chunks: Promise<AckResult[]>[] = [];
    for (let i = 0; i < acks.length; i += ACKS_IN_ONE) {
      chunks.push(this.ackPart(namespace, acks.slice(i, i + ACKS_IN_ONE)));
    }
    return (await Promise.all(chunks)).flat();
  }

  private ackPart(namespace: string, acks: readonly Ack[]): Promise<AckResult[]> {
    // For others of its batch the script would run twice, too.
    if (acks.every(({ id }) => this.durations.isExtended(id))) return this.ackExtended(namespace, acks);
    return new Promise((resolve, reject) => {
      const done = (verdicts: readonly Verdict[], first: number): void => {
        const judge = (ack: Ack, i: number): AckResult => this.judge(namespace, ack, verdicts[first + i]);
        if (acks.some((_ack, i) => verdicts[first + i]?.code === ACK.isExtended)) {
          this.judgeMixed(namespace, acks, verdicts.slice(first, first + acks.length), judge).then(
            resolve,
            reject,
          );
        } else resolve(acks.map(judge));
      };
      this.acks.add(namespace, acks, acks.length * ACK_BYTES, { done, failed: reject });
    });
  }

  /** Merges the results of simple jobs with those of the jobs that the extended path must acknowledge. */
  private async judgeMixed(
    namespace: string,
    acks: readonly Ack[],
    verdicts: readonly Verdict[],
    judge: (ack: Ack, i: number) => AckResult,
  ): Promise<AckResult[]> {
    const elsewhere = acks.filter((_ack, i) => verdicts[i]?.code === ACK.isExtended);
    const results = await this.ackExtended(namespace, elsewhere);
    return acks.map((ack, i) =>
      verdicts[i]?.code === ACK.isExtended ? (results.shift() ?? 'not_found') : judge(ack, i),
    );
  }

  private async ackExtended(namespace: string, acks: readonly Ack[]): Promise<AckResult[]> {
    const settled = await this.extended.settler.settle(
      namespace,
      acks.map(({ queue, id, lease = 0, lateResult }) => {
        const result = /* guard: late-result-is-kept */ lateResult?.();
        const kept = result ? { has_result: true, rtype: result.contentType } : {};
        return { verb: 'ack', id, lease, options: { queue, ...kept }, bytes: result?.body };
      }),
    );
    return settled.map((one, i) => this.judgeSettled(namespace, acks[i], one));
  }

  private judgeSettled(namespace: string, ack: Ack | undefined, { code, nowMs, facts }: Settled): AckResult {
    // For acknowledgements the codes of both scripts are the same.
    const simpleCode = code === SETTLED.refused ? ACK.missing : code;
    const verdict = {
      code: simpleCode,
      nowMs,
      ranMs: ranOf(facts),
      ageMs: ageOf(facts),
      queue: queueOf(facts),
    };
    return this.judge(namespace, ack ?? { id: '' }, verdict, true);
  }

  /** @param isEmitted the script itself has written the event */
  private judge(
    namespace: string,
    ack: Pick<Ack, 'queue' | 'id'>,
    verdict: Verdict | undefined,
    isEmitted = false,
  ): AckResult {
    const { id, queue = verdict?.queue ?? '' } = ack;
    const { code, nowMs, ranMs, ageMs } = verdict ?? { code: ACK.missing, nowMs: 0 };
    if (code === ACK.refused) {
      this.observer.staleAck(namespace, 'refused');
      return 'lease_lost';
    }
    if (code === ACK.late) this.observer.staleAck(namespace, 'late');
    // guard: stale-ack-counted
    if (code === ACK.possible) this.observer.staleAck(namespace, 'possible');
    if (code === ACK.missing) return 'not_found';
    if (this.events.isOn && !isEmitted) this.emit(namespace, queue, id, code !== ACK.neverLeased);
    if (code === ACK.neverLeased) return 'acked';
    this.observer.acked(namespace, queue, ageMs ?? this.ageOf(id, nowMs));
    const runMs = ranMs ?? this.durations.end(id, nowMs);
    if (runMs >= 0) this.observer.ran(namespace, queue, runMs);
    return 'acked';
  }

  /**
   * Age of a job. Only the process that leased a job with a given id knows its age: ack.lua answers one digit per job.
   */
  private ageOf(id: string, nowMs: number): number | null {
    const ageMs = this.durations.ageMs(id, nowMs);
    if (ageMs !== null) return ageMs;
    const minted = mintedAtMsOf(id);
    return minted === 0 ? null : Math.max(nowMs - minted, 0);
  }

  private emit(namespace: string, queue: string, id: string, wasLeased: boolean): void {
    const encoded = encodeId(id);
    if (encoded) this.events.acked(namespace, queue, encoded, wasLeased);
  }
}
