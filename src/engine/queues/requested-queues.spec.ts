import type { ScriptRunner } from '../core/scripts.js';
import { RequestedQueues } from './requested-queues.js';

describe('the queues that lease requests named', () => {
  /** Items that were recorded. */
  const recorded: string[] = [];
  let nowMs = 0;
  let isAway = false;
  const runner = {
    now: () => nowMs,
    run: (_script: unknown, _namespace: string, _values: object, items: readonly (readonly string[])[]) => {
      if (isAway) return Promise.reject(new Error('Redis is away'));
      recorded.push(...items.map(([flag]) => flag ?? ''));
      return Promise.resolve({});
    },
  } as unknown as ScriptRunner;
  let requested: RequestedQueues;

  beforeEach(() => {
    recorded.length = 0;
    nowMs = 1_000_000;
    isAway = false;
    requested = new RequestedQueues(runner);
  });
  afterEach(() => requested.stop());

  async function see(types?: readonly (string | null)[]): Promise<string[]> {
    requested.see('shop', ['orders'], '', types);
    await requested.flush();
    return recorded.splice(0);
  }

  /** More than is remembered of one request, of types that each are short. */
  const LONG = Array.from({ length: 64 }, (_, i) => `type-${String(i)}`.padEnd(32, 'x'));

  it.each<[string, (string | null)[], string[]]>([
    ['one type', ['mail'], ['orders \n', 'orders mail']],
    ['two types', ['mail', null], ['orders \n', 'orders mail', 'orders ']],
    ['many long types', LONG, ['orders \n', ...LONG.map((type) => `orders ${type}`)]],
  ])('are recorded once in ten seconds: %s', async (_name, types, flags) => {
    expect(await see(types)).toEqual(flags);
    nowMs += 9_999;
    expect(await see(types)).toEqual([]);
    nowMs += 1;
    expect(await see(types)).toEqual(flags);
  });

  it('are recorded again when the first of their types is due again', async () => {
    expect(await see(['mail'])).toEqual(['orders \n', 'orders mail']);
    nowMs += 6_000;
    expect(await see(['mail', 'sms'])).toEqual(['orders sms']);
    nowMs += 4_000;
    expect(await see(['mail', 'sms'])).toEqual(['orders \n', 'orders mail']);
  });

  it('keep no text of a long request', async () => {
    await see(LONG);
    const remembered = [...(requested['recorded'].get('shop')?.keys() ?? [])];
    expect(remembered).toHaveLength(1 + LONG.length);
  });

  it('are recorded again after a failure', async () => {
    isAway = true;
    expect(await see(['mail'])).toEqual([]);
    isAway = false;
    expect(await see(['mail'])).toEqual(['orders \n', 'orders mail']);
  });
});
