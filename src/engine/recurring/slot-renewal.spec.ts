import { silentObserver } from '../core/observer.js';
import type { Timers } from '../timers/timers.js';
import { SlotRenewal } from './slot-renewal.js';

/** Keeps the one timer that is set. */
class OneTimer implements Timers {
  delayMs = 0;
  fire: () => void = () => undefined;
  set(_name: string, delayMs: number, fire: () => void): void {
    [this.delayMs, this.fire] = [delayMs, fire];
  }
  clear(): void {
    this.fire = () => undefined;
  }
}

it('slot renewal computes the slots of all namespaces each hour, and 30 seconds after a failure', async () => {
  const timers = new OneTimer();
  const renewed: string[] = [];
  let fails = false;
  const renew = (namespace: string): Promise<number> => {
    if (fails) return Promise.reject(new Error('away'));
    renewed.push(namespace);
    return Promise.resolve(1);
  };
  const renewal = new SlotRenewal({
    ...{ pool: 'default', timers, observer: silentObserver },
    namespaces: () => Promise.resolve(['a', 'b']),
    recurrings: { renew },
    whenSetBack: new Set(),
  });
  const delays: number[] = [];
  renewal.start();
  for (fails of [false, true, false]) {
    delays.push(Math.round(timers.delayMs));
    timers.fire();
    await new Promise(setImmediate);
  }
  delays.push(timers.delayMs);
  expect(delays).toEqual([5_000, 3_600_000, 30_000, 3_600_000]);
  expect(renewed).toEqual(['a', 'b', 'a', 'b']);
  await renewal.stop();
});
