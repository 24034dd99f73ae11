import { setImmediate as turn } from 'node:timers/promises';
import { InFlight } from './in-flight.js';

/** Shows whether a promise has settled. */
function watch(promise: Promise<void>): { isOver: boolean } {
  const state = { isOver: false };
  void promise.then(() => (state.isOver = true));
  return state;
}

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await turn();
}

describe('what is under way', () => {
  it('is nothing at first', async () => {
    await new InFlight().idle();
  });

  it('is waited for until the last of it has ended', async () => {
    const inFlight = new InFlight();
    inFlight.begin();
    inFlight.begin();
    const idle = watch(inFlight.idle());
    inFlight.end();
    await turns(3);
    expect(idle.isOver).toBe(false);

    inFlight.end();
    await turns(3);
    expect(idle.isOver).toBe(true);
  });

  it('includes what follows from its end', async () => {
    const inFlight = new InFlight();
    inFlight.begin();
    const idle = watch(inFlight.idle());
    inFlight.end();
    // An undo of undelivered leases begins.
    await Promise.resolve().then(() => inFlight.begin());
    await turns(3);
    expect(idle.isOver).toBe(false);

    inFlight.end();
    await turns(3);
    expect(idle.isOver).toBe(true);
  });

  it('is waited for by all who ask, also by one who asks late', async () => {
    const inFlight = new InFlight();
    inFlight.begin();
    const early = watch(inFlight.idle());
    await turns(2);
    const late = watch(inFlight.idle());
    inFlight.end();
    await turns(3);

    expect([early.isOver, late.isOver]).toEqual([true, true]);
  });
});
