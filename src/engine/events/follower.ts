import { comparePlaces, type JobEvent } from '../../domain/job/job-event.js';

/** Receives the events of one namespace, in order. Calls are synchronous and must not throw. */
export interface EventListener {
  /** It has subscribed from now on, and not from a position: all later events follow this one. Called first. */
  begins(place: string): void;
  take(events: readonly JobEvent[]): void;
  /** Events may be missing between the previous call and the next. */
  missed(): void;
  /** Resolves when the listener can take more. Called only while it gets earlier events. */
  hasRoom(): Promise<void>;
  /** No more events follow; the listener may subscribe again elsewhere. */
  ended(): void;
}

/** A listener and its position. */
export class Follower {
  /** True if the feed delivers new events to it; before that it gets earlier events. */
  isLive = false;
  isOver = false;

  constructor(
    private readonly listener: EventListener,
    /** Position of the last event that it received. */
    public place: string,
  ) {}

  /** Sets the position of a listener that has none yet. */
  begin(place: string): void {
    this.place = place;
    this.listener.begins(place);
  }

  /** Delivers the events that the listener does not have yet. */
  give(events: readonly JobEvent[], place: string): void {
    if (this.isOver) return;
    const [first] = events;
    const isFresh = (event: JobEvent): boolean => comparePlaces(event.place, this.place) > 0;
    // The same array for all listeners that get all of it, so that they can share what they derive from it.
    const fresh = first === undefined || isFresh(first) ? events : events.filter(isFresh);
    if (comparePlaces(place, this.place) > 0) this.place = place;
    if (fresh.length > 0) this.listener.take(fresh);
  }

  missed(): void {
    if (!this.isOver) this.listener.missed();
  }

  hasRoom(): Promise<void> {
    return this.listener.hasRoom();
  }

  /** Tells the listener, once, that no more events follow. */
  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.listener.ended();
  }
}
