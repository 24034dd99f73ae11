import { Actor } from '../domain/actor.js';
import { PasswordChecks, type PasswordVerdict } from './password-checks.js';

describe('password checks', () => {
  const DAY_MS = 86_400_000;
  const HERE = '10.0.0.1';
  const [OPS, DEV] = [new Actor('ops', 'admin', null), new Actor('dev', 'viewer', null)];
  const ACTORS = [OPS, DEV];
  let nowMs: number;
  let looked: string[];
  let waits: { readonly ms: number; readonly end: (value?: unknown) => void }[];
  let checks: PasswordChecks;
  beforeEach(() => {
    nowMs = 0;
    looked = [];
    waits = [];
    const wait = (ms: number): Promise<unknown> => new Promise((end) => waits.push({ ms, end }));
    const whose = (text = ''): Actor | null => {
      looked.push(text);
      return ACTORS.find(({ account }) => text === `${account ?? ''}:secret`) ?? null;
    };
    checks = new PasswordChecks({ whose }, () => nowMs, wait);
  });

  const check = (password: string, address = HERE): Promise<PasswordVerdict> =>
    checks.check(address, password);
  /** Ends the first wait, at its time. */
  function pass(): void {
    const [{ ms, end }] = waits.splice(0, 1) as [(typeof waits)[number]];
    nowMs += ms;
    end();
  }

  it('answer a right password and the first wrong one at once', async () => {
    expect(await check('ops:secret')).toEqual({ actor: OPS });
    expect(await check('ops:guess')).toEqual({ failures: 1 });
    expect(waits).toEqual([]);
  });

  it('are delayed to one per second and address after a wrong password, and refused as busy beyond four that wait', async () => {
    await check('ops:a');
    const waiting = ['ops:b', 'ops:c', 'dev:secret', 'ops:d'].map((text) => check(text));
    expect(waits.map(({ ms }) => ms)).toEqual([1_000, 2_000, 3_000, 4_000]);
    looked = [];
    const refused = check('ops:e');
    expect(looked).toEqual([]);
    for (let i = 0; i < 4; i++) waits[i]!.end();
    expect(await Promise.all(waiting)).toEqual([
      { failures: 2 },
      { failures: 3 },
      { actor: DEV },
      { failures: 4 },
    ]);
    expect(waits[4]?.ms).toBe(1_000);
    waits[4]!.end();
    expect(await refused).toBe('busy');
  });

  it('do not delay an account that logged in from the same address within a day', async () => {
    await check('ops:secret');
    const guesses = Array.from({ length: 40 }, (_, i) => check(i % 2 === 0 ? 'ops:guess' : 'dev:guess'));
    for (let i = 0; i < 40; i++) expect(await check('ops:secret')).toEqual({ actor: OPS });
    // Another account, and the same one from elsewhere, wait as guesses do.
    const [other, elsewhere] = [check('dev:secret'), check('ops:secret', '10.0.0.2')];
    expect(await elsewhere).toEqual({ actor: OPS });
    for (const { end } of waits) end();
    expect(await other).toBe('busy');
    await Promise.all(guesses);

    nowMs += DAY_MS - 1;
    await check('ops:guess');
    expect(await check('ops:secret')).toEqual({ actor: OPS });
    nowMs += DAY_MS;
    await check('ops:guess');
    waits = [];
    const late = check('ops:secret');
    expect(waits).toHaveLength(1);
    pass();
    expect(await late).toEqual({ actor: OPS });
  });

  it('delay refusals for the address, and report a flood beyond 1,000 delayed refusals', async () => {
    await check('ops:a');
    const answers = Array.from({ length: 4 + 1_000 }, () => check('ops:b'));
    expect(waits).toHaveLength(1_004);
    expect(await check('ops:b')).toBe('flood');
    for (const { end } of waits) end();
    expect((await Promise.all(answers)).filter((one) => one === 'busy')).toHaveLength(1_000);
  });

  it('compare a flood of passwords with no account, and accept only the right header of a known one', async () => {
    await check('ops:secret');
    await check('ops:guess');
    const answers = Array.from({ length: 4 + 1_000 }, () => check('ops:guess'));
    looked = [];
    for (const guess of ['ops:guess', 'ops:secre', 'ops:secret ', '', 'dev:secret'])
      expect(await check(guess)).toBe('flood');
    expect(await check('ops:secret')).toEqual({ actor: OPS });
    expect(looked).toEqual([]);
    for (const { end } of waits) end();
    expect(await Promise.all(answers)).not.toContainEqual({ actor: OPS });
  });

  it('count the failures of an address, and start again at 1 after a minute without a failure', async () => {
    await check('ops:a');
    nowMs += 60_000;
    expect(await check('ops:a')).toEqual({ failures: 2 });
    nowMs += 60_001;
    expect(await check('ops:a')).toEqual({ failures: 1 });
  });

  describe('hashed passwords', () => {
    /** Passwords that are being compared. */
    let ends: (() => void)[];
    beforeEach(() => {
      ends = [];
      const wait = (ms: number): Promise<unknown> => new Promise((end) => waits.push({ ms, end }));
      const whose = (text = ''): Promise<Actor | null> =>
        new Promise((resolve) => {
          ends.push(() => resolve(ACTORS.find(({ account }) => text === `${account ?? ''}:secret`) ?? null));
        });
      checks = new PasswordChecks({ whose }, () => nowMs, wait);
    });
    /** Ends all comparisons. */
    const settle = (): void => ends.splice(0).forEach((end) => end());

    it('are compared one at a time for an address, also before the first of them is known to be wrong', async () => {
      const guesses = Array.from({ length: 10 }, (_, i) => check(`ops:${String(i)}`));
      await new Promise(setImmediate);
      expect(ends).toHaveLength(1);
      expect(waits.map(({ ms }) => ms).slice(0, 4)).toEqual([1_000, 2_000, 3_000, 4_000]);
      for (let i = 0; i < 10; i++) {
        settle();
        for (const { end } of waits.splice(0, 1)) end();
        await new Promise(setImmediate);
      }
      settle();
      const verdicts = await Promise.all(guesses);
      expect(verdicts.filter((one) => one === 'busy')).toHaveLength(5);
    });

    it('are compared once for the requests that a page sends at the same time', async () => {
      const requests = Array.from({ length: 8 }, () => check('ops:secret'));
      await new Promise(setImmediate);
      expect(ends).toHaveLength(1);
      settle();
      expect(await Promise.all(requests)).toEqual(Array.from({ length: 8 }, () => ({ actor: OPS })));
      expect(waits).toEqual([]);
      const next = check('dev:secret');
      settle();
      expect(await next).toEqual({ actor: DEV });
    });

    it('are not shared while they turn out to be wrong', async () => {
      const requests = Array.from({ length: 3 }, () => check('ops:guess'));
      await new Promise(setImmediate);
      settle();
      await new Promise(setImmediate);
      expect(waits).toHaveLength(2);
      for (const { end } of waits) end();
      await new Promise(setImmediate);
      settle();
      expect(await Promise.all(requests)).toHaveLength(3);
    });
  });

  it('remember 1,000 addresses, and treat a /64 network of IPv6 as one address', async () => {
    for (let i = 0; i < 3_000; i++) {
      const address = `10.0.${String(i >> 8)}.${String(i & 255)}`;
      await check('ops:secret', address);
      await check('ops:a', address);
    }
    expect(checks.size).toBe(1_000);
    const failuresOf = async (address: string): Promise<unknown> => {
      const verdict = check('ops:a', address);
      if (waits.length > 0) pass();
      return verdict;
    };
    for (const address of ['2001:db8:1:2::1', '2001:db8:1:2:3:4:5:6', '2001:db8:1:2:ffff::'])
      await failuresOf(address);
    expect(await failuresOf('2001:db8:1:2::')).toEqual({ failures: 4 });
    for (const address of ['2001:db8:1:3::1', '::ffff:10.9.9.9', '::ffff:10.9.9.8'])
      expect(await failuresOf(address)).toEqual({ failures: 1 });
  });
});
