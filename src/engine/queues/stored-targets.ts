import type { ACKS, Action, BODIES, METHODS, SIGNATURES } from '../../contract/targets.js';

/** When the breaker of a target opens, and for how long. */
export interface BreakerSettings {
  /** Requests in a row without an answer that open it. */
  readonly failures: number;
  /** Or this share of failures, in percent, of the requests of the last minute, */
  readonly failurePercent: number;
  /** of which there were so many at least. */
  readonly minRequests: number;
  /** How long it is open; doubled with each opening in a row, */
  readonly openMs: number;
  /** up to this. */
  readonly maxOpenMs: number;
}

export const BREAKER: BreakerSettings = {
  failures: 5,
  failurePercent: 50,
  minRequests: 10,
  openMs: 30_000,
  maxOpenMs: 300_000,
};

/** Where jobs are pushed to, as it is stored; without what is secret. */
export interface Target {
  readonly url: string;
  /** Origins of the URLs that its jobs may name. */
  readonly origins: readonly string[];
  readonly method: (typeof METHODS)[number];
  readonly timeoutMs: number;
  readonly body: (typeof BODIES)[number];
  readonly ack: (typeof ACKS)[number];
  readonly sign: (typeof SIGNATURES)[number];
  /** By status (`404`) or class (`4xx`). */
  readonly onStatus: Readonly<Record<string, Action>>;
  /** Longest delay that a `Retry-After` can cause. */
  readonly maxRetryAfterMs: number;
  /** Null: it has none. */
  readonly breakerSettings: BreakerSettings | null;
  readonly headerNames: readonly string[];
  readonly pausedAtMs: number | null;
  /** `operator`: by a call; `gone`: the target answered 410. */
  readonly pauseReason: 'operator' | 'gone' | null;
  /** Until when requests are signed with the old secret too, Unix ms; null = there is none. */
  readonly oldSecretUntilMs: number | null;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
}

/** What is never shown. */
export interface TargetSecrets {
  /** `whsec_` and base64. */
  readonly secret: string;
  readonly oldSecret: string | null;
  readonly headers: Readonly<Record<string, string>>;
}

/** The state of a breaker, shared by all servers; absent = closed. Times are those of Redis. */
export interface OpenBreaker {
  /** No job is leased for the target before, Unix ms. */
  readonly openUntilMs: number;
  /** How often it opened in a row. */
  readonly openings: number;
  /** Until when one server tries the target with one job, Unix ms; 0 = none does. */
  readonly probeUntilMs: number;
  /** What the request was answered that opened it; earlier servers store none. */
  readonly lastAnswer?: string;
}

/** A target with the parts that are stored beside it. */
export interface TargetView extends Target {
  readonly name: string;
  readonly queues: readonly string[];
  /** Its open breakers, by origin; '' = of its own URL. */
  readonly breakers: ReadonlyMap<string, OpenBreaker>;
  /** The time of Redis when it was read, Unix ms. */
  readonly readAtMs: number;
}

export interface StoredTarget {
  readonly target: Target;
  /** Encrypted, or plain JSON. */
  readonly sealed: string;
}

export function storedText({ target, sealed }: StoredTarget): string {
  return JSON.stringify({ target, sealed });
}

export function readTarget(text: string): StoredTarget {
  const { target, sealed } = JSON.parse(text) as StoredTarget;
  // Those that were stored first have no settings.
  return { target: { ...target, breakerSettings: settingsOf(target) }, sealed };
}

function settingsOf({ breakerSettings = BREAKER }: Partial<Target>): BreakerSettings | null {
  return breakerSettings;
}

/** The name under which the breaker of an origin is stored; '' = that of the target's own URL. */
export function breakerName(target: string, origin: string): string {
  return origin === '' ? target : `${target} ${origin}`;
}

/** The target and the origin of a breaker's name. */
export function partsOfBreakerName(name: string): { readonly target: string; readonly origin: string } {
  const [target = '', origin = ''] = name.split(' ');
  return { target, origin };
}

/** The open breakers of a target by origin, '' = of its own URL. @param breakers by name, as stored */
export function breakersOf(
  breakers: ReadonlyMap<string, string>,
  target: string,
): ReadonlyMap<string, OpenBreaker> {
  const found = new Map<string, OpenBreaker>();
  for (const [name, text] of breakers) {
    const parts = partsOfBreakerName(name);
    const breaker = parts.target === target ? readBreaker(text) : null;
    if (breaker !== null) found.set(parts.origin, breaker);
  }
  return found;
}

/** Until when no job is leased for it, Unix ms. One that is further away than it can be was written by a wrong clock, and is over. */
export function openUntilOf(
  { openUntilMs }: OpenBreaker,
  { maxOpenMs }: BreakerSettings,
  nowMs: number,
): number {
  return openUntilMs > nowMs + maxOpenMs ? nowMs : openUntilMs;
}

export function readBreaker(text: string | undefined): OpenBreaker | null {
  return text === undefined ? null : (JSON.parse(text) as OpenBreaker);
}
