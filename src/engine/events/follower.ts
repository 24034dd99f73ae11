import { comparePlaces, type JobEvent } from '../../domain/job-event.js';

/** Takes the events of one namespace, in their order. Calls are synchronous and must not throw. */
export interface EventListener {
  take(events: readonly JobEvent[]): void;
  /** Events may be missing between what came last and what comes next. */
  missed(): void;
  /** Resolves when more can be taken: asked for only while it is given what was before it came. */
  hasRoom(): Promise<void>;
  /** There is nothing more to come; it may subscribe again elsewhere. */
  ended(): void;
}

/** A listener, and how far it has come. */
export class Follower {
  /** It is given what is new by the feed; until then it is given what was before. */
  isLive = false;
  isOver = false;

  constructor(
    private readonly listener: EventListener,
    /** Of the last event that it was given. */
    public place: string,
  ) {}

  /** Gives it those that it does not have yet. */
  give(events: readonly JobEvent[], place: string): void {
    if (this.isOver) return;
    const [first] = events;
    const isFresh = (event: JobEvent): boolean => comparePlaces(event.place, this.place) > 0;
    // The same list for all who want the whole of it: what is made of it need be made once.
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

  /** Tells it that nothing more comes; once. */
  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.listener.ended();
  }
}
