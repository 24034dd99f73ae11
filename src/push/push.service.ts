import {
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
  Optional,
} from '@nestjs/common';
import { isPortIn } from '../config/addresses.js';
import { Config } from '../config/config.js';
import type { Caller } from '../domain/caller.js';
import { QueueError } from '../domain/errors.js';
import { LOG, type Log } from '../domain/log.js';
import { Engines } from '../engine/engines.js';
import { Drain } from '../http/request/drain.js';
import { MetricsService } from '../metrics/metrics.service.js';
import { AckLinks } from './ack-links.js';
import { AddressRules } from './send/address-rules.js';
import { signatureHeaders } from './send/message.js';
import { Names } from './send/names.js';
import { Pusher } from './pusher.js';
import { Seal } from './seal.js';
import type { PushAnswer, Sender } from './send/sender.js';
import { SendError } from './send/send-error.js';
import { Slots } from './slots.js';
import { TargetsService } from './targets.service.js';
import { type Verdict, verdictOfAnswer, verdictOfError } from './send/verdict.js';

/** What a test request showed. */
export interface TestResult {
  readonly answer: PushAnswer | null;
  readonly error: SendError | null;
  readonly verdict: Verdict;
  readonly isSigned: boolean;
  readonly tookMs: number;
}

/** Bytes of the answer that a test shows. */
const SHOWN_BYTES = 1_024;
const TEST_BODY = Buffer.from('{"test":true}');

/** Runs the pushers of all pools from the start of the application to its shutdown, if `push.enabled` is set. */
@Injectable()
export class PushService implements OnApplicationBootstrap, OnModuleDestroy {
  /** Null: this server does not push. */
  private sender: Sender | null = null;
  private readonly pushers: Pusher[] = [];
  private readonly slots: Slots;
  private readonly stopping = new AbortController();

  constructor(
    private readonly config: Config,
    private readonly engines: Engines,
    private readonly targets: TargetsService,
    private readonly seal: Seal,
    private readonly drain: Drain,
    @Inject(AckLinks) private readonly links: AckLinks | null,
    @Inject(LOG) private readonly log: Log,
    @Optional() private readonly metrics?: MetricsService,
  ) {
    this.slots = new Slots(config.push.max_in_flight, () =>
      this.pushers.reduce((sum, { tenants }) => sum + tenants, 0),
    );
  }

  async onApplicationBootstrap(): Promise<void> {
    const { config, slots, log, seal, drain, links } = this;
    if (!config.push.enabled) return;
    const sender = (this.sender = await senderOf(config));
    for (const [pool, engine] of this.engines.entries()) {
      const pusher = new Pusher(engine, pool, {
        sender,
        slots,
        log,
        seal,
        links,
        metrics: this.metrics?.push,
        isClosing: () => drain.closing,
        clientPool: this.engines.clientPoolOf(pool),
        clientTargets: this.engines.of(this.engines.clientPoolOf(pool)).targets,
      });
      this.pushers.push(pusher);
      pusher.start();
    }
  }

  /** Before the engines stop: the outcomes of requests under way are still to be recorded. */
  async onModuleDestroy(): Promise<void> {
    this.stopping.abort();
    const leftMs = this.drain.leftMs(this.config.server.drain_ms);
    await Promise.all(this.pushers.map((pusher) => pusher.stop(leftMs)));
    this.sender?.close();
  }

  /**
   * Sends one request without a job. @throws {QueueError} `push_disabled`, `push_key_mismatch`, `target_not_found`,
   * `pool_moving`
   */
  async test(caller: Caller, name: string): Promise<TestResult> {
    const { target, secrets, nowMs } = await this.targets.open(caller, name);
    if (this.sender === null) {
      throw new QueueError('push_disabled', 'this server does not push: push.enabled is not set');
    }
    this.targets.audit('target.test', caller, name);
    const startMs = performance.now();
    const isSigned = target.sign === 'standard';
    const took = (): number => Math.round(performance.now() - startMs);
    try {
      const answer = await this.sender.send({
        url: new URL(target.url),
        method: target.method,
        headers: {
          'content-type': 'application/json',
          'user-agent': 'Pumphouse',
          'pumphouse-test': '1',
          ...signatureHeaders(`test-${String(nowMs)}`, TEST_BODY, target, secrets, nowMs),
          ...secrets.headers,
        },
        body: TEST_BODY,
        timeoutMs: target.timeoutMs,
        maxAnswerBytes: SHOWN_BYTES,
        signal: this.stopping.signal,
      });
      const verdict = verdictOfAnswer(answer, target, 0, nowMs);
      return { answer, error: null, verdict, isSigned, tookMs: took() };
    } catch (error) {
      if (!(error instanceof SendError)) throw error;
      return { answer: null, error, verdict: verdictOfError(error), isSigned, tookMs: took() };
    }
  }
}

/** Loads what sends: a server that does not push starts without it. */
async function senderOf({ push }: Config): Promise<Sender> {
  const { Sender } = await import('./send/sender.js');
  return new Sender(
    {
      addresses: new AddressRules(push.allow),
      isPortAllowed: (port) => isPortIn(push.ports, port),
      isHttpAllowed: push.allow_http,
      names: new Names(),
    },
    { maxPerOrigin: push.max_in_flight },
  );
}
