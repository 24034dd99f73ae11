import { randomUUID } from 'node:crypto';
import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { Config } from '../config/config.js';
import { MAX_PERIOD_MS } from '../domain/limits.js';
import { LOG, type Log } from '../domain/log.js';
import { Engines } from '../engine/engines.js';
import type { Engine } from '../engine/engine.js';
import { Drain } from '../http/request/drain.js';
import { AddressRules } from '../push/send/address-rules.js';
import { Names } from '../push/send/names.js';
import type { Sender } from '../push/send/sender.js';
import { callbackProblem } from './callback-url.js';
import { PoolRegistry } from '../redis/redis.module.js';
import { CallbackWorker } from './callback-worker.js';
import { bodyOf, type CreateFields, laterJobOf, queryAnswer } from './later-job.js';

/** The pool that has the namespace. */
const POOL = 'default';
/** Ids that `create` gives. Others are not jobs of later, even if they are in its queue. */
const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const MAX_DELAY_S = BigInt(MAX_PERIOD_MS / 1_000);
/** Tries that the job has besides those of later: a lease that expires because a server was killed uses one of these. */
const SPARE_TRIES = 5;
/** More are not needed: the delay before the fortieth retry is longer than 100,000 years. */
const MOST_TRIES = 40;

/** A job that was stored. */
interface Created {
  readonly id: string;
}

/** The rule that a request breaks, for people: with the remedy. */
interface Refused {
  readonly rule: string;
}

/** The jobs of later's API, and the worker that makes their callbacks. They are native jobs of one queue. */
@Injectable()
export class LaterService implements OnApplicationBootstrap, OnModuleDestroy {
  private worker: CallbackWorker | undefined;
  private sender: Sender | undefined;

  constructor(
    private readonly config: Config,
    private readonly engines: Engines,
    private readonly drain: Drain,
    private readonly pools: PoolRegistry,
    @Inject(LOG) private readonly log: Log,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    const { later, push } = this.config;
    if (later.port === undefined) return;
    // Each origin is chosen by the operator, with its scheme and port. Addresses are checked for each connection.
    const rules = {
      addresses: new AddressRules(push.allow),
      isPortAllowed: () => true,
      isHttpAllowed: true,
      names: new Names(),
    };
    const { Sender } = await import('../push/send/sender.js');
    this.sender = new Sender(rules, { maxPerOrigin: push.max_in_flight });
    this.worker = new CallbackWorker({
      engine: this.engine,
      ...{ namespace: later.namespace, queue: later.queue, allow: later.allow },
      ...{ sender: this.sender, log: this.log, maxInFlight: push.max_in_flight },
      isClosing: () => this.drain.closing,
    });
    this.worker.start();
  }

  /** Before the engines stop: the outcomes of callbacks under way are still to be recorded. */
  async onModuleDestroy(): Promise<void> {
    await this.worker?.stop(this.drain.leftMs(this.config.server.drain_ms));
    this.sender?.close();
  }

  /**
   * Stores a job. @returns its id, or why its callback or its delay is not allowed
   *
   * @throws {QueueError} a quota, or an error of the store
   */
  async create(request: CreateFields): Promise<Created | Refused> {
    const { topic, delay, retry, callback, content } = request;
    const { namespace, queue, allow } = this.config.later;
    const rule = callbackProblem(callback, allow);
    if (rule !== undefined) return { rule };
    if (delay > MAX_DELAY_S) return { rule: `delay must be at most ${String(MAX_DELAY_S)}` };
    const id = randomUUID();
    // It is stored: the clock of Redis, which is one for all servers.
    const nowMs = /* guard: later-by-redis-clock */ this.pools.get(POOL)?.clock.now() ?? Date.now();
    const nowS = BigInt(Math.floor(nowMs / 1_000));
    const body = bodyOf({
      ...{ topic, callback, content, max_retry: retry, creat_time: nowS },
      execute_time: BigInt.asIntN(64, nowS + delay),
    });
    const retries = retry < 0n ? 0 : retry > MOST_TRIES ? MOST_TRIES : Number(retry);
    await this.engine.jobs.publish(namespace, [
      {
        ...{ id, queue, body, ttlMs: 0, retentionMs: 0 },
        delayMs: delay > 0n ? Number(delay) * 1_000 : 0,
        tries: retries + 1 + SPARE_TRIES,
      },
    ]);
    return { id };
  }

  /** Deletes a job, whatever its state; an unknown id changes nothing. @throws {QueueError} an error of the store */
  async delete(id: string): Promise<void> {
    const { namespace, queue } = this.config.later;
    if (ID.test(id)) await this.engine.ack(namespace, queue, id);
  }

  /** The answer of `/query`; null if there is no such job, or it is dead. @throws {QueueError} an error of the store */
  async query(id: string): Promise<string | null> {
    const { namespace, queue } = this.config.later;
    const found = ID.test(id) ? await this.engine.jobs.find(namespace, id) : null;
    if (found?.queue !== queue || found.endedAtMs !== null || found.state === 'dead') return null;
    const job = laterJobOf(found.body);
    return job && queryAnswer(id, job, found.failures);
  }

  private get engine(): Engine {
    return this.engines.of(POOL);
  }
}
