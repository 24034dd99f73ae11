import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Actor } from '../domain/actor.js';
import type { Accounts } from './accounts.js';

/** Pause after a wrong password, before the next one of its address is checked, in milliseconds. */
const TURN_MS = 1_000;
/** Passwords of one address that wait for their check. */
const MAX_WAITING = 4;
/**
 * Refusals of one address that are held back, each for a turn: so a connection that guesses costs one request a second. Beyond them it is
 * closed at once, and costs as many as its client opens.
 */
const MAX_REFUSALS = 1_000;
/** How long a right password counts for its account and address, in milliseconds: a day. */
const KNOWN_MS = 86_400_000;
/** An address without failures for this long starts counting again at zero, in milliseconds. */
const FORGET_MS = 60_000;
/** Number of addresses to remember; above that, the one that was used longest ago is dropped. */
const MAX_ADDRESSES = 1_000;

/** What one address has sent. */
interface Address {
  /** Wrong passwords of late. */
  failures: number;
  lastMs: number;
  /** When the next password may be checked. */
  turnMs: number;
  waiting: number;
  refusals: number;
}

/** The last right password of an account. */
interface Known {
  readonly actor: Actor;
  /** Keyed hash of its header. */
  readonly hash: Buffer;
  readonly rightMs: number;
}

/**
 * The account of a right password; the number of recent failures of the address after a wrong one; `busy`: not checked, too many wait;
 * `flood`: not even the answer to that can wait.
 */
export type PasswordVerdict = { readonly actor: Actor } | { readonly failures: number } | 'busy' | 'flood';

/**
 * Checks passwords so that guessing is slow, and does not keep out whom the server knows: an account whose password was right from the same
 * address within a day is let through. All other passwords of an address queue: after a wrong one, one is checked a second, and four wait.
 */
export class PasswordChecks {
  /** Both sorted by last use, the oldest first. */
  private readonly byAddress = new Map<string, Address>();
  /** Address → its accounts. */
  private readonly known = new Map<string, Map<string, Known>>();
  private readonly hashKey = randomBytes(32);
  /** Verdicts on passwords that are being compared, by address and header. */
  private readonly compared = new Map<string, Promise<PasswordVerdict>>();

  constructor(
    private readonly accounts: Pick<Accounts, 'whose'>,
    private readonly now: () => number = () => performance.now(),
    private readonly wait: (ms: number) => Promise<unknown> = (ms) => sleep(ms, undefined, { ref: false }),
  ) {}

  /** Number of remembered addresses. */
  get size(): number {
    return Math.max(this.byAddress.size, this.known.size);
  }

  /** @param authorization the header of the request */
  async check(address: string, authorization: string): Promise<PasswordVerdict> {
    const group = groupOf(address);
    const friend = /* guard: known-account-passes */ this.knownOf(group, authorization);
    if (friend !== null) return this.right(group, friend, authorization);
    // A page sends several requests at once.
    const shared = this.compared.size > 0 ? await this.sharedVerdict(group, authorization) : null;
    if (shared !== null) return shared;
    const state = this.stateOf(group);
    if (/* guard: passwords-wait-bounded */ state.waiting >= MAX_WAITING) return this.refuse(state);
    const waitMs = state.turnMs - this.now();
    if (waitMs > 0) {
      state.turnMs += TURN_MS;
      state.waiting += 1;
      // guard: password-waits-its-turn
      await this.wait(waitMs);
      state.waiting -= 1;
    }
    return this.compare(group, state, authorization);
  }

  /** While a password is compared, the next one of its address waits as behind a wrong one: a hash takes long. */
  private async compare(group: string, state: Address, authorization: string): Promise<PasswordVerdict> {
    const found = this.accounts.whose(authorization);
    if (!(found instanceof Promise)) return this.verdict(group, state, authorization, found);
    const { turnMs } = state;
    // guard: compared-password-holds-its-turn
    state.turnMs = Math.max(turnMs, this.now() + TURN_MS);
    keep(this.byAddress, group, state);
    const key = `${group} ${this.hashOf(authorization).toString('base64')}`;
    const verdict = found.then((actor) => {
      // Those that began to wait meanwhile keep their turns.
      if (actor !== null && state.waiting === 0) state.turnMs = turnMs;
      return this.verdict(group, state, authorization, actor);
    });
    this.compared.set(key, verdict);
    try {
      return await verdict;
    } finally {
      this.compared.delete(key);
    }
  }

  private verdict(
    group: string,
    state: Address,
    authorization: string,
    actor: Actor | null,
  ): PasswordVerdict {
    return actor === null ? this.wrong(group, state) : this.right(group, actor, authorization);
  }

  /** The verdict on the same header of the same address that is being compared, if it is right. */
  private async sharedVerdict(group: string, authorization: string): Promise<PasswordVerdict | null> {
    const verdict = await this.compared.get(`${group} ${this.hashOf(authorization).toString('base64')}`);
    return typeof verdict === 'object' && 'actor' in verdict ? verdict : null;
  }

  /** The account of a header that was right from there before. No other account is compared: that is what a flood would cost. */
  private knownOf(group: string, authorization: string): Actor | null {
    const accounts = this.known.get(group);
    if (accounts === undefined) return null;
    const sent = this.hashOf(authorization);
    for (const { actor, hash, rightMs } of accounts.values()) {
      if (
        /* guard: known-header-is-compared */ timingSafeEqual(hash, sent) &&
        this.now() - rightMs < KNOWN_MS
      )
        return actor;
    }
    return null;
  }

  private right(group: string, actor: Actor, authorization: string): PasswordVerdict {
    const accounts = this.known.get(group) ?? new Map<string, Known>();
    accounts.set(actor.account ?? '', { actor, hash: this.hashOf(authorization), rightMs: this.now() });
    keep(this.known, group, accounts);
    return { actor };
  }

  private hashOf(authorization: string): Buffer {
    return createHmac('sha256', this.hashKey).update(authorization).digest();
  }

  private wrong(group: string, state: Address): PasswordVerdict {
    const nowMs = this.now();
    if (nowMs - state.lastMs > FORGET_MS) state.failures = 0;
    state.failures += 1;
    state.lastMs = nowMs;
    state.turnMs = Math.max(state.turnMs, nowMs + TURN_MS);
    keep(this.byAddress, group, state);
    return { failures: state.failures };
  }

  private async refuse(state: Address): Promise<PasswordVerdict> {
    if (state.refusals >= MAX_REFUSALS) return 'flood';
    state.refusals += 1;
    // guard: refusals-are-held-back
    await this.wait(TURN_MS);
    state.refusals -= 1;
    return 'busy';
  }

  private stateOf(group: string): Address {
    const nowMs = this.now();
    return (
      this.byAddress.get(group) ?? { failures: 0, lastMs: nowMs, turnMs: nowMs, waiting: 0, refusals: 0 }
    );
  }
}

/** Makes an entry the newest one, and drops the oldest ones beyond the limit. */
function keep<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
  for (const [oldest] of map) {
    if (/* guard: addresses-bounded */ map.size <= MAX_ADDRESSES) break;
    map.delete(oldest);
  }
}

/** Groups IPv6 addresses by their first 64 bits: a client can use 2^64 addresses of its network. */
function groupOf(address: string): string {
  if (!isIPv6(address) || address.startsWith('::ffff:')) return address;
  const [front = '', back] = address.split('::');
  const head = front === '' ? [] : front.split(':');
  const tail = back === undefined || back === '' ? [] : back.split(':');
  const zeros = back === undefined ? 0 : 8 - head.length - tail.length;
  return [...head, ...Array.from({ length: zeros }, () => '0'), ...tail].slice(0, 4).join(':');
}
