import { Slots } from './slots.js';

const { signal } = new AbortController();

describe('slots of push', () => {
  it('are never more than there are', () => {
    const slots = new Slots(3);
    expect([
      slots.tryTake('a', 9),
      slots.tryTake('b', 9),
      slots.tryTake('c', 9),
      slots.tryTake('d', 9),
    ]).toEqual([...[1, 1, 1, 0]]);
    expect(slots.inUse).toBe(3);
  });

  it('leave room for the next target', () => {
    const slots = new Slots(100);
    expect(slots.tryTake('slow', 100)).toBe(50);
    expect(slots.tryTake('slow', 100)).toBe(0);
    expect(slots.tryTake('quick', 100)).toBe(33);
  });

  it('go to those that wait, in turn', async () => {
    const slots = new Slots(2);
    slots.tryTake('a', 1);
    slots.tryTake('b', 1);
    const [c, d] = [slots.take('c', 1, signal), slots.take('d', 1, signal)];
    slots.free('a', 1);
    expect(await c).toBe(1);
    slots.free('c', 1);
    expect(await d).toBe(1);
    expect(slots.inUse).toBe(2);
  });

  it('are not given to a target that no longer waits', async () => {
    const slots = new Slots(1);
    slots.tryTake('a', 1);
    const leaving = new AbortController();
    const waits = slots.take('b', 1, leaving.signal);
    leaving.abort();
    expect(await waits).toBe(0);
    slots.free('a', 1);
    expect(slots.inUse).toBe(0);
  });
});
