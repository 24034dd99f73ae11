import { Slots } from './slots.js';

const { signal } = new AbortController();
/** Many targets of a namespace take a slot each, again and again. @returns how many they got */
const fill = (slots: Slots, tenant: string, targets = 256): number => {
  const before = slots.inUse;
  const own = slots.of(tenant);
  const takes = Array.from({ length: targets }, (_, i) => () => own.tryTake(`t${String(i)}`, 1) > 0);
  // For as long as one of them gets another slot.
  while (takes.some((take) => take()));
  return slots.inUse - before;
};

describe('slots of push', () => {
  describe('one namespace alone', () => {
    const one = (total: number): Slots => new Slots(total, () => 1);

    it('gets no more slots than there are besides the reserve', () => {
      const slots = one(4).of('n');
      expect(['a', 'b', 'c', 'd'].map((target) => slots.tryTake(target, 9))).toEqual([1, 1, 1, 0]);
    });

    it.each([
      [256, 224],
      [16, 14],
      [7, 6],
      [2, 1],
      [1, 1],
    ])('gets of %d slots %d with many targets', (total, most) => {
      const slots = one(total);
      expect(fill(slots, 'n')).toBe(most);
      expect(fill(slots, 'n')).toBe(0);
    });

    it('leaves the reserve for namespaces that come later', () => {
      let known = 1;
      const slots = new Slots(256, () => known);
      fill(slots, 'hangs');
      known = 33;
      for (let i = 0; i < 32; i++) expect(fill(slots, `late${String(i)}`)).toBe(1);
      expect(slots.inUse).toBe(256);
    });

    it('leaves half of its free slots for the next target', () => {
      const slots = one(114).of('n');
      expect(slots.tryTake('slow', 100)).toBe(50);
      expect(slots.tryTake('slow', 100)).toBe(0);
      expect(slots.tryTake('quick', 100)).toBe(25);
    });

    it('gives freed slots to its waiting targets in turn', async () => {
      const all = one(3);
      const slots = all.of('n');
      slots.tryTake('a', 1);
      slots.tryTake('b', 1);
      const [c, d] = [slots.take('c', 1, signal), slots.take('d', 1, signal)];
      slots.free('a', 1);
      expect(await c).toBe(1);
      slots.free('c', 1);
      expect(await d).toBe(1);
      expect(all.inUse).toBe(2);
    });

    it('gives no slot to a target that no longer waits', async () => {
      const all = one(1);
      const slots = all.of('n');
      slots.tryTake('a', 1);
      const leaving = new AbortController();
      const waits = slots.take('b', 1, leaving.signal);
      leaving.abort();
      expect(await waits).toBe(0);
      slots.free('a', 1);
      expect(all.inUse).toBe(0);
    });
  });

  describe('namespaces that share the slots', () => {
    const many = (total: number): Slots => new Slots(total, () => 1_000);

    it.each([
      [256, 168],
      [64, 42],
      [10, 6],
      [2, 1],
      [1, 1],
    ])('share %d slots: one namespace with many targets gets at most %d', (total, most) => {
      const slots = many(total);
      expect(fill(slots, 'hangs')).toBe(most);
      expect(fill(slots, 'hangs')).toBe(0);
    });

    it('share 256 slots: a first namespace leaves 42 for a second, and later namespaces get at least one each', () => {
      const slots = many(256);
      fill(slots, 'hangs');
      expect(fill(slots, 'second')).toBe(42);
      for (let i = 0; i < 5; i++) expect(fill(slots, `hangs${String(i)}`)).toBeGreaterThan(0);
      for (let i = 0; i < 24; i++) expect(fill(slots, `late${String(i)}`)).toBe(1);
    });

    it('share slots evenly if two of them take slots in turn', () => {
      const slots = many(256);
      const held = [0, 0];
      for (let i = 0; i < 256; i++)
        ['a', 'b'].forEach((name, at) => (held[at]! += slots.of(name).tryTake(`t${String(i)}`, 1)));
      expect(held).toEqual([96, 96]);
    });

    it('get freed slots in turn, and not by their number of targets', async () => {
      const slots = many(8);
      const order: string[] = [];
      for (let i = 0; i < 8; i++) slots.of(`n${String(i)}`).tryTake('t', 1);
      expect(slots.inUse).toBe(8);
      const waits = ['a', 'a', 'a', 'b'].map(async (name, i) => {
        await slots.of(name).take(`t${String(i)}`, 1, signal);
        order.push(name);
      });
      for (let i = 0; i < 8; i++) slots.of(`n${String(i)}`).free('t', 1);
      await Promise.all(waits);
      expect(order.slice(0, 2)).toEqual(['a', 'b']);
    });

    it('have separate counts for targets of the same name', () => {
      const slots = many(100);
      const first = slots.of('pool/a').tryTake('t', 100);
      expect(slots.of('pool/b').tryTake('t', 1)).toBe(1);
      slots.of('pool/b').free('t', 1);
      expect(slots.inUse).toBe(first);
    });
  });
});
