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

describe('work in flight', () => {
  it('is not awaited if nothing has begun', async () => {
    await new InFlight().idle();
  });

  it('is awaited until all of it has ended', async () => {
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

  it('is awaited with work that begins when other work ends', async () => {
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

  it('is awaited by two callers at different times', async () => {
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
