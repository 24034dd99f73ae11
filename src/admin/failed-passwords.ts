import { isIPv6 } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const FIRST_DELAY_MS = 50;
const LONGEST_DELAY_MS = 2_000;
/** Delayed answers to one address at a time; above that, its passwords are rejected unchecked. */
const MAX_PENDING = 4;
/** An address without failures for this long starts again at zero, in milliseconds. */
const FORGET_MS = 60_000;
/** Number of addresses to remember; above that, the one that failed longest ago is dropped. */
const MAX_ADDRESSES = 1_000;

interface Failures {
  count: number;
  pending: number;
  lastMs: number;
}

/**
 * Slows down password guessing, by address: each wrong password is answered later than the one before. Only a few
 * answers may be pending, so more connections do not speed it up. A right password is not delayed.
 */
export class FailedPasswords {
  /** Sorted by last failure, the oldest first. */
  private readonly byAddress = new Map<string, Failures>();

  constructor(
    private readonly now: () => number = () => performance.now(),
    private readonly wait: (ms: number) => Promise<unknown> = (ms) => sleep(ms, undefined, { ref: false }),
  ) {}

  /** Number of remembered addresses. */
  get size(): number {
    return this.byAddress.size;
  }

  /** True if passwords from this address must not be checked now. */
  isBusy(address: string): boolean {
    return (this.byAddress.get(groupOf(address))?.pending ?? 0) >= MAX_PENDING;
  }

  /** Counts a wrong password and waits until it may be answered. @returns the number of failures */
  async failed(address: string): Promise<number> {
    const group = groupOf(address);
    const failures = this.renewed(group);
    failures.count += 1;
    failures.pending += 1;
    const { count } = failures;
    await this.wait(Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(count - 1, 10)));
    failures.pending -= 1;
    return count;
  }

  private renewed(group: string): Failures {
    const nowMs = this.now();
    let failures = this.byAddress.get(group);
    if (failures === undefined) failures = { count: 0, pending: 0, lastMs: nowMs };
    else if (nowMs - failures.lastMs > FORGET_MS) failures.count = 0;
    failures.lastMs = nowMs;
    this.byAddress.delete(group);
    this.byAddress.set(group, failures);
    for (const [oldest] of this.byAddress) {
      if (this.byAddress.size <= MAX_ADDRESSES) break;
      this.byAddress.delete(oldest);
    }
    return failures;
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
