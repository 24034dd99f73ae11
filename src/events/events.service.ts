import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { AccessRules } from '../auth/access.js';
import { Admission } from '../auth/admission.js';
import { Config } from '../config/config.js';
import { QueueError } from '../domain/errors.js';
import { EngineRegistry } from '../engine/engine.registry.js';
import type { Exchange } from '../http/exchange.js';
import type { EventMetrics } from '../metrics/event-metrics.js';
import { MetricsService } from '../metrics/metrics.service.js';
import type { EventFilter } from './event-filter.js';
import { EventStream } from './event-stream.js';

/** How often each stream's token is looked at, in milliseconds: a revoked one gets no more within two of them. */
const LOOK_MS = 1_000;
/** A stream whose token cannot be looked at for so long ends, in milliseconds: the store of the tokens may be away for a moment. */
const UNCONFIRMED_MS = 10_000;

/** What a client asks for. */
export interface StreamRequest {
  /** What its token must be allowed to do for as long as it listens. */
  readonly rules: AccessRules;
  /** Null = every event. */
  readonly filter: EventFilter | null;
  /** The place that an earlier stream had come to; null = from now on. */
  readonly after: string | null;
}

/** The open streams of events of one process: how many there may be, that their tokens still work, that they say something now and then. */
@Injectable()
export class EventsService implements OnApplicationShutdown {
  private readonly streams = new Map<EventStream, AccessRules>();
  private readonly ofToken = new Map<string, number>();
  private readonly metrics: EventMetrics;
  private looker: NodeJS.Timeout | undefined;

  constructor(
    @Inject(Config) private readonly config: Config,
    @Inject(EngineRegistry) private readonly engines: EngineRegistry,
    @Inject(Admission) private readonly admission: Admission,
    @Inject(MetricsService) { events }: MetricsService,
  ) {
    this.metrics = events;
  }

  /**
   * Answers a request with the events of its namespace, until one of the two sides ends it. Resolves when the stream has begun.
   *
   * @throws {QueueError} `too_many_streams`: of its token; `overloaded`: of the process; `pool_moving`, `shutting_down`, or the store's own
   */
  async open(exchange: Exchange, { rules, filter, after }: StreamRequest): Promise<void> {
    const { pool, namespace } = exchange.caller;
    const feed = this.engines.eventsOf(pool);
    const leave = this.enter(exchange.caller.tokenId);
    let unsubscribe = (): void => undefined;
    const { max_buffer_bytes } = this.config.events;
    const stream = new EventStream(exchange, filter, max_buffer_bytes, this.metrics, (reason) => {
      this.streams.delete(stream);
      unsubscribe();
      leave();
      if (reason !== null) this.metrics.ended[reason].value += 1;
    });
    try {
      unsubscribe = await feed.subscribe(namespace, after, stream);
    } catch (error) {
      stream.abandon();
      throw error;
    }
    // The client may have gone meanwhile.
    if (stream.isOver) unsubscribe();
    else this.begin(stream, rules);
  }

  onApplicationShutdown(): void {
    clearInterval(this.looker);
  }

  private begin(stream: EventStream, rules: AccessRules): void {
    this.streams.set(stream, rules);
    this.looker ??= setInterval(() => this.look(), LOOK_MS).unref();
    stream.begin();
  }

  /** Counts a stream in. @returns what counts it out */
  private enter(tokenId: string): () => void {
    const { max_streams, max_streams_per_token } = this.config.events;
    const { open, refused } = this.metrics;
    const own = this.ofToken.get(tokenId) ?? 0;
    if (own >= max_streams_per_token) {
      refused.ofToken.value += 1;
      throw new QueueError('too_many_streams', 'the token has as many streams of events open as it may');
    }
    if (open.value >= max_streams) {
      refused.ofAll.value += 1;
      throw new QueueError('overloaded', 'too many streams of events are open');
    }
    open.value += 1;
    this.ofToken.set(tokenId, own + 1);
    return () => {
      open.value -= 1;
      const left = (this.ofToken.get(tokenId) ?? 1) - 1;
      if (left > 0) this.ofToken.set(tokenId, left);
      else this.ofToken.delete(tokenId);
    };
  }

  private look(): void {
    for (const [stream, rules] of this.streams) {
      stream.beat(this.config.events.heartbeat_ms);
      this.admission.confirm(stream.exchange, rules).then(
        () => (stream.confirmedMs = performance.now()),
        (error: unknown) => {
          const isUnknown = error instanceof QueueError && error.code === 'pool_unavailable';
          if (!isUnknown || performance.now() - stream.confirmedMs > UNCONFIRMED_MS) stream.end('refused');
        },
      );
    }
  }
}
