import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { AccessRules } from '../auth/access.js';
import { Admission } from '../auth/admission.js';
import { Config } from '../config/config.js';
import type { EventFilter } from '../domain/job/event-filter.js';
import { QueueError } from '../domain/errors.js';
import { Engines } from '../engine/engines.js';
import type { RequestContext } from '../http/request/request-context.js';
import type { EventMetrics, StreamEnd } from '../metrics/event-metrics.js';
import { MetricsService } from '../metrics/metrics.service.js';
import { eventSightOf } from './event-sight.js';
import { EventStream } from './event-stream.js';

/**
 * Interval of the token checks of open streams, in milliseconds. A stream ends within two intervals after its token was
 * revoked.
 */
const TOO_MANY =
  'the token has its limit of event streams in this process (events.max_streams_per_token): close one, or repeat the request after Retry-After';
const CHECK_MS = 1_000;
/**
 * A stream ends if its token could not be checked for this long, in milliseconds: the token store may be unreachable
 * for a moment.
 */
const UNCONFIRMED_MS = 10_000;

/** A request for an event stream. */
export interface StreamRequest {
  /** What the token must permit for as long as the stream is open. */
  readonly rules: AccessRules;
  /** Null = every event. */
  readonly filter: EventFilter | null;
  /** The id of the last event of an earlier stream; null = from now on. */
  readonly after: string | null;
}

/** The open event streams of one process: limits their number, checks their tokens, and sends heartbeats. */
@Injectable()
export class EventsService implements OnApplicationShutdown {
  private readonly streams = new Map<EventStream, AccessRules>();
  private readonly ofToken = new Map<string, number>();
  private readonly metrics: EventMetrics;
  private looker: NodeJS.Timeout | undefined;

  constructor(
    private readonly config: Config,
    private readonly engines: Engines,
    private readonly admission: Admission,
    { events }: MetricsService,
  ) {
    this.metrics = events;
  }

  /**
   * Answers a request with the events of its namespace until one side ends the stream. Resolves when the stream has
   * begun.
   *
   * @throws {QueueError} `too_many_streams`: limit of the token; `overloaded`: limit of the process; `pool_moving`,
   * `shutting_down`, or an error of the store
   */
  async open(context: RequestContext, { rules, filter, after }: StreamRequest): Promise<void> {
    const { pool, namespace } = context.caller;
    const { events } = this.engines.of(pool);
    context.atEnd(this.acquireSlot(context.caller.tokenId));
    let unsubscribe = (): void => undefined;
    const { max_buffer_bytes } = this.config.events;
    const ended = (reason: StreamEnd | null): void => {
      this.streams.delete(stream);
      unsubscribe();
      if (reason !== null) this.metrics.ended[reason].value += 1;
    };
    const sight = eventSightOf(context.caller, this.engines);
    const stream = new EventStream(context, filter, max_buffer_bytes, this.metrics, ended, sight);
    try {
      unsubscribe = await events.subscribe(namespace, after, stream);
    } catch (error) {
      stream.abandon();
      throw error;
    }
    // The client may have disconnected in the meantime.
    if (stream.isOver) unsubscribe();
    else this.begin(stream, rules);
  }

  onApplicationShutdown(): void {
    clearInterval(this.looker);
  }

  private begin(stream: EventStream, rules: AccessRules): void {
    this.streams.set(stream, rules);
    this.looker ??= setInterval(() => this.checkRights(), CHECK_MS).unref();
    stream.begin();
  }

  /** Counts an open stream. @returns a function that gives the slot back */
  private acquireSlot(tokenId: string): () => void {
    const { max_streams, max_streams_per_token } = this.config.events;
    const { open, refused } = this.metrics;
    const own = this.ofToken.get(tokenId) ?? 0;
    // guard: streams-of-a-token-are-bounded
    if (own >= max_streams_per_token) {
      refused.ofToken.value += 1;
      throw new QueueError('too_many_streams', TOO_MANY);
    }
    // guard: streams-are-bounded
    if (open.value >= max_streams) {
      refused.ofAll.value += 1;
      throw new QueueError('overloaded', 'too many event streams');
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

  private checkRights(): void {
    for (const [stream, rules] of this.streams) {
      stream.keepAlive(this.config.events.heartbeat_ms);
      this.admission.confirm(stream.context, rules).then(
        () => (stream.confirmedMs = performance.now()),
        (error: unknown) => {
          const isUnknown = error instanceof QueueError && error.code === 'pool_unavailable';
          if (!isUnknown || performance.now() - stream.confirmedMs > UNCONFIRMED_MS)
            // guard: stream-ends-with-its-token
            stream.end('refused');
        },
      );
    }
  }
}
