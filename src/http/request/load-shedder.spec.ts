import { QueueError } from '../../domain/errors.js';
import { FloodMetrics } from '../../metrics/flood-metrics.js';
import { Metrics } from '../../metrics/metrics.js';
import { LoadShedder, type LoadLimits, type Loading } from './load-shedder.js';

/** A load shedder, and a function that sends requests of a token to it. */
function shedderOf(limits: Partial<LoadLimits>) {
  const metrics = new FloodMetrics(new Metrics());
  const shedder = new LoadShedder(
    { maxInFlight: 8, maxBodyBytes: 100, maxWaiters: 3, maxWaitersPerToken: 2, ...limits },
    metrics,
  );
  const acquire = (tokenId = 'a', goesFirst = false): Loading => {
    const context: Loading = { load: 'none', bodyBytes: 0, admitted: { tokenId } };
    shedder.acquire(context, goesFirst);
    return context;
  };
  const rest = (tokenId = 'a'): Loading => {
    const context = acquire(tokenId);
    try {
      shedder.park(context);
    } catch (error) {
      shedder.release(context);
      throw error;
    }
    return context;
  };
  return { shedder, metrics, acquire, rest };
}

/** The code of the error that a call throws. */
function codeOf(call: () => unknown): string | undefined {
  try {
    call();
    return undefined;
  } catch (error) {
    return error instanceof QueueError ? error.code : String(error);
  }
}

describe('the load shedder', () => {
  it('keeps a quarter of the requests in flight for requests that free resources', () => {
    const { shedder, metrics, acquire } = shedderOf({});
    const usual = Array.from({ length: 6 }, () => acquire());
    expect(codeOf(() => acquire())).toBe('overloaded');

    const first = [acquire('a', true), acquire('a', true)];
    expect(codeOf(() => acquire('a', true))).toBe('overloaded');

    expect(metrics.inFlight.value).toBe(8);
    expect(metrics.refused.in_flight.value).toBe(2);
    for (const context of [...usual, ...first]) shedder.release(context);
    expect(metrics.inFlight.value).toBe(0);
    expect(() => acquire()).not.toThrow();
  });

  it('counts a waiting request as waiting and not as in flight', () => {
    const { shedder, metrics, rest } = shedderOf({});
    const waiter = rest();

    expect([waiter.load, metrics.inFlight.value]).toEqual(['waiting', 0]);
    shedder.release(waiter);
    expect(waiter.load).toBe('none');
  });

  it('limits the waiting requests of one token without an effect on another token', () => {
    const { shedder, metrics, rest } = shedderOf({});
    const [one] = [rest(), rest()];
    expect(codeOf(() => rest())).toBe('too_many_waiters');
    expect(() => rest('b')).not.toThrow();

    expect(metrics.refused.token_waiters.value).toBe(1);
    shedder.release(one);
    expect(() => rest()).not.toThrow();
  });

  it('limits the waiting requests of all tokens together', () => {
    const { shedder, metrics, rest } = shedderOf({});
    const waiters = [rest('a'), rest('b'), rest('c')];
    expect(codeOf(() => rest('d'))).toBe('overloaded');

    expect(metrics.refused.waiters.value).toBe(1);
    expect(metrics.inFlight.value).toBe(0);
    shedder.release(waiters[0]!);
    expect(() => rest('d')).not.toThrow();
  });

  it('refuses to reserve bytes or to wait for a released request', () => {
    const { shedder, metrics, acquire } = shedderOf({});
    const context = acquire();
    shedder.release(context);

    expect(codeOf(() => shedder.reserveBytes(context, 1))).toBe('invalid_argument');
    expect(codeOf(() => shedder.park(context))).toBe('invalid_argument');
    expect([metrics.inFlight.value, metrics.bodyBytes.value, context.load]).toEqual([0, 0, 'none']);
  });

  it('releases no request twice', () => {
    const { shedder, metrics, acquire, rest } = shedderOf({});
    const [context, waiter] = [acquire(), rest()];
    for (let i = 0; i < 3; i++) for (const each of [context, waiter]) shedder.release(each);

    expect(metrics.inFlight.value).toBe(0);
    expect(() => [rest('b'), rest('c'), rest('d')]).not.toThrow();
    expect(codeOf(() => rest('e'))).toBe('overloaded');
  });

  it('limits the bytes of bodies, keeps a quarter for requests that free resources, and admits one large body alone', () => {
    const { shedder, metrics, acquire } = shedderOf({});
    const [one, other, first] = [acquire(), acquire('b'), acquire('c', true)];
    shedder.reserveBytes(one, 40);
    shedder.reserveBytes(other, 35);
    expect(codeOf(() => shedder.reserveBytes(acquire('d'), 1))).toBe('overloaded');
    expect(codeOf(() => shedder.reserveBytes(other, 1))).toBe('overloaded');
    shedder.reserveBytes(first, 25);
    expect(codeOf(() => shedder.reserveBytes(first, 1))).toBe('overloaded');
    expect(metrics.bodyBytes.value).toBe(100);
    expect(metrics.refused.body_bytes.value).toBe(3);

    for (const context of [one, other, first, first]) shedder.release(context);
    expect(metrics.bodyBytes.value).toBe(0);
    const alone = acquire();
    shedder.reserveBytes(alone, 500);
    shedder.reserveBytes(alone, 500);
    expect(codeOf(() => shedder.reserveBytes(acquire('b', true), 1))).toBe('overloaded');
    shedder.release(alone);
    expect(metrics.bodyBytes.value).toBe(0);
  });

  it('limits the bytes of the bodies of one token, also of requests that free resources', () => {
    const { shedder, metrics, acquire } = shedderOf({});
    const own = [acquire('a', true), acquire('a', true)];
    shedder.reserveBytes(own[0]!, 30);
    shedder.reserveBytes(own[1]!, 20);
    expect(codeOf(() => shedder.reserveBytes(acquire('a', true), 1))).toBe('overloaded');
    expect(() => shedder.reserveBytes(acquire('b'), 25)).not.toThrow();

    shedder.release(own[0]!);
    expect(() => shedder.reserveBytes(acquire('a', true), 30)).not.toThrow();
    expect(metrics.bodyBytes.value).toBe(75);
  });
});
