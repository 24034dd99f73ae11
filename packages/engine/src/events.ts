import type { EventOptions, PlacedEvent, PumphouseError } from '@pumphouse/client';
import { setTimeout as sleep } from 'node:timers/promises';
import { allOf, checksOf, type EventFilter, FILTERS, MOST_VALUES } from '#src/domain/job/event-filter';
import { QueueError } from '#src/domain/errors';
import { isPlace, type JobEvent, shownEvent } from '#src/domain/job/job-event';
import type { Engine } from '#src/engine/engine';
import type { EventListener } from '#src/engine/events/follower';
import { abortable, reasonOf } from './calls.js';
import { invalid, toClientError } from './errors.js';

/** Events that wait for a slow reader. A reader with more is cut off, and goes on where it was when it has read them. */
const MOST_BUFFERED = 2_000;
/** Earlier events come while there are fewer than this. */
const ROOM_BELOW = 1_000;
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 5_000;

/**
 * The events of a namespace, as `events` of the HTTP client gives them. It subscribes again, and goes on where it was,
 * until its `signal` aborts, its loop ends or the engine stops.
 *
 * @throws {PumphouseError} `invalid_argument`: a filter; or the reason of the signal
 */
export async function* eventsOf(
  engine: Engine,
  namespace: string,
  options: EventOptions,
): AsyncGenerator<PlacedEvent, void, void> {
  const { signal } = options;
  let place = options.after ?? null;
  const filter = read(() => filterOf(options));
  for (let pauses = 0; ; pauses++) {
    signal?.throwIfAborted();
    const reader = new EventReader(filter, place);
    let unsubscribe = (): void => undefined;
    try {
      unsubscribe = await engine.events.subscribe(namespace, place, reader);
      options.onOpen?.();
      for (;;) {
        for (const event of reader.takeAll()) {
          pauses = 0;
          yield event;
        }
        if (reader.isOver && reader.isEmpty) break;
        if (reader.isEmpty) await (signal ? abortable(reader.changed(), signal) : reader.changed());
      }
    } catch (error) {
      if (signal?.aborted) throw reasonOf(signal);
      if (error instanceof QueueError && error.code === 'shutting_down') return;
      if (!isRetryable(error)) throw toClientError(error);
    } finally {
      unsubscribe();
      ({ place } = reader);
    }
    const pauseMs = Math.random() * Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** pauses);
    await (signal ? abortable(sleep(pauseMs), signal) : sleep(pauseMs));
  }
}

/** Buffers the events of one subscription, up to a bound. */
class EventReader implements EventListener {
  /** Nothing more comes; the reader may subscribe again behind `place`. */
  isOver = false;
  private buffer: PlacedEvent[] = [];
  private waiters: (() => void)[] = [];

  /** @param place of the last event that was received; null = none */
  constructor(
    private readonly filter: EventFilter | null,
    public place: string | null,
  ) {}

  get isEmpty(): boolean {
    return this.buffer.length === 0;
  }

  takeAll(): PlacedEvent[] {
    const taken = this.buffer;
    this.buffer = [];
    this.wake();
    return taken;
  }

  /** Resolves at the next change. */
  changed(): Promise<void> {
    return new Promise((resolve) => this.waiters.push(resolve));
  }

  begins(place: string): void {
    this.place = place;
  }

  take(events: readonly JobEvent[]): void {
    if (this.isOver) return;
    const wanted = this.filter === null ? events : events.filter(this.filter);
    if (this.buffer.length + wanted.length > MOST_BUFFERED) {
      this.ended();
      return;
    }
    this.place = events.at(-1)?.place ?? this.place;
    if (wanted.length === 0) return;
    this.buffer.push(...wanted.map(placedOf));
    this.wake();
  }

  missed(): void {
    if (this.isOver) return;
    this.buffer.push({ event: 'missed', place: null });
    this.wake();
  }

  async hasRoom(): Promise<void> {
    while (this.buffer.length >= ROOM_BELOW && !this.isOver) await this.changed();
  }

  ended(): void {
    this.isOver = true;
    this.wake();
  }

  private wake(): void {
    for (const resolve of this.waiters.splice(0)) resolve();
  }
}

/** @throws {QueueError} `invalid_argument` */
function filterOf({ queues, events, jobs, types, tags, after }: EventOptions): EventFilter | null {
  if (after !== undefined && !isPlace(after)) throw invalid('after must be the place of an event');
  const wanted = new Map<string, Set<string>>();
  for (const [name, values] of Object.entries({
    queue: queues,
    event: events,
    job: jobs,
    type: types,
    tag: tags,
  })) {
    const filter = FILTERS.get(name);
    if (values === undefined || filter === undefined) continue;
    const isWrong =
      values.length > MOST_VALUES || values.some((value) => value === '' || !filter.isRight(value));
    if (isWrong) throw invalid(`${name}: ${filter.rule}`);
    if (values.length > 0) wanted.set(name, new Set(values));
  }
  return allOf(checksOf(wanted));
}

function read<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw toClientError(error);
  }
}

function isRetryable(error: unknown): boolean {
  return error instanceof QueueError && (toClientError(error) as PumphouseError).retryable;
}

/** In the form of the client. Own fields have one word each: only names of facts change. */
function placedOf(event: JobEvent): PlacedEvent {
  const fields = Object.entries(shownEvent(event)).map(([name, value]) => [
    camelOf(name),
    name === 'result' ? resultOf(value) : value,
  ]);
  return {
    ...(Object.fromEntries(fields) as Omit<PlacedEvent, 'place'> & { event: string }),
    place: event.place,
  };
}

function resultOf(value: unknown): unknown {
  const { data, content_type } = value as { readonly data: unknown; readonly content_type: string };
  return { data, contentType: content_type };
}

function camelOf(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
