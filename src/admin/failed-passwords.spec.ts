import { FailedPasswords } from './failed-passwords.js';

describe('failed passwords', () => {
  let nowMs: number;
  let waits: { readonly ms: number; readonly end: (value?: unknown) => void }[];
  let failed: FailedPasswords;
  beforeEach(() => {
    nowMs = 0;
    waits = [];
    const wait = (ms: number): Promise<unknown> => new Promise((end) => waits.push({ ms, end }));
    failed = new FailedPasswords(() => nowMs, wait);
  });

  async function fail(address = '10.0.0.1'): Promise<number> {
    const failing = failed.failed(address);
    const { ms, end } = waits.at(-1)!;
    end();
    await failing;
    return ms;
  }

  it('are answered later and later, up to two seconds, each address for itself', async () => {
    const delays: number[] = [];
    for (let i = 0; i < 8; i++) delays.push(await fail());
    expect(delays).toEqual([50, 100, 200, 400, 800, 1_600, 2_000, 2_000]);
    expect(await fail('10.0.0.2')).toBe(50);
    nowMs += 60_001;
    expect(await fail()).toBe(50);
  });

  it('are looked at no more while four wait for their answers', async () => {
    const failing = Array.from({ length: 4 }, () => failed.failed('10.0.0.1'));
    expect([failed.isBusy('10.0.0.1'), failed.isBusy('10.0.0.2')]).toEqual([true, false]);
    for (const { end } of waits) end();
    expect(await Promise.all(failing)).toEqual([1, 2, 3, 4]);
    expect(failed.isBusy('10.0.0.1')).toBe(false);
  });

  it('are remembered of a thousand addresses, of networks in IPv6', async () => {
    for (let i = 0; i < 3_000; i++) await fail(`10.0.${String(i >> 8)}.${String(i & 255)}`);
    expect(failed.size).toBe(1_000);
    for (const address of ['2001:db8:1:2::1', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2:ffff::'])
      await fail(address);
    expect(await fail('2001:db8:1:2::')).toBe(400);
    expect(await fail('2001:db8:1:3::1')).toBe(50);
    expect(await fail('::ffff:10.9.9.9')).toBe(50);
    expect(await fail('::ffff:10.9.9.8')).toBe(50);
    expect(failed.size).toBe(1_000);
  });
});
