import { QueueError } from '../domain/errors.js';
import { FloodMetrics } from '../metrics/flood-metrics.js';
import { Metrics } from '../metrics/metrics.js';
import { Gate, type GateLimits, type Loading } from './gate.js';

/** A gate, and a way to have requests of a token come to it. */
function gateOf(limits: Partial<GateLimits>) {
  const metrics = new FloodMetrics(new Metrics());
  const gate = new Gate(
    { maxInFlight: 8, maxBodyBytes: 100, maxWaiters: 3, maxWaitersPerToken: 2, ...limits },
    metrics,
  );
  const enter = (tokenId = 'a', goesFirst = false): Loading => {
    const exchange: Loading = { load: 'none', bodyBytes: 0, admitted: { tokenId } };
    gate.enter(exchange, goesFirst);
    return exchange;
  };
  const rest = (tokenId = 'a'): Loading => {
    const exchange = enter(tokenId);
    try {
      gate.rest(exchange);
    } catch (error) {
      gate.leave(exchange);
      throw error;
    }
    return exchange;
  };
  return { gate, metrics, enter, rest };
}

/** The code of what a call throws. */
function codeOf(call: () => unknown): string | undefined {
  try {
    call();
    return undefined;
  } catch (error) {
    return error instanceof QueueError ? error.code : String(error);
  }
}

describe('the gate', () => {
  it('keeps a quarter of the room for those who go first', () => {
    const { gate, metrics, enter } = gateOf({});
    const usual = Array.from({ length: 6 }, () => enter());
    expect(codeOf(() => enter())).toBe('overloaded');

    const first = [enter('a', true), enter('a', true)];
    expect(codeOf(() => enter('a', true))).toBe('overloaded');

    expect(metrics.inFlight.value).toBe(8);
    expect(metrics.refused.in_flight.value).toBe(2);
    for (const exchange of [...usual, ...first]) gate.leave(exchange);
    expect(metrics.inFlight.value).toBe(0);
    expect(() => enter()).not.toThrow();
  });

  it('counts a request that waits as a waiter, and not as in flight', () => {
    const { gate, metrics, rest } = gateOf({});
    const waiter = rest();

    expect([waiter.load, metrics.inFlight.value]).toEqual(['waiting', 0]);
    gate.leave(waiter);
    expect(waiter.load).toBe('none');
  });

  it('bounds the waiters of a token, and lets others wait', () => {
    const { gate, metrics, rest } = gateOf({});
    const [one] = [rest(), rest()];
    expect(codeOf(() => rest())).toBe('too_many_waiters');
    expect(() => rest('b')).not.toThrow();

    expect(metrics.refused.token_waiters.value).toBe(1);
    gate.leave(one);
    expect(() => rest()).not.toThrow();
  });

  it('bounds the waiters of all tokens together', () => {
    const { gate, metrics, rest } = gateOf({});
    const waiters = [rest('a'), rest('b'), rest('c')];
    expect(codeOf(() => rest('d'))).toBe('overloaded');

    expect(metrics.refused.waiters.value).toBe(1);
    expect(metrics.inFlight.value).toBe(0);
    gate.leave(waiters[0]!);
    expect(() => rest('d')).not.toThrow();
  });

  it('counts nobody twice out', () => {
    const { gate, metrics, enter, rest } = gateOf({});
    const [exchange, waiter] = [enter(), rest()];
    for (let i = 0; i < 3; i++) for (const each of [exchange, waiter]) gate.leave(each);

    expect(metrics.inFlight.value).toBe(0);
    expect(() => [rest('b'), rest('c'), rest('d')]).not.toThrow();
    expect(codeOf(() => rest('e'))).toBe('overloaded');
  });

  it('bounds the bytes of bodies, and keeps a quarter of them for those who go first', () => {
    const { gate, metrics, enter } = gateOf({});
    const [one, other, first] = [enter(), enter(), enter('a', true)];
    gate.hold(one, 40);
    gate.hold(other, 35);
    expect(codeOf(() => gate.hold(enter(), 1))).toBe('overloaded');
    expect(codeOf(() => gate.hold(other, 1))).toBe('overloaded');
    gate.hold(first, 25);
    expect(codeOf(() => gate.hold(first, 1))).toBe('overloaded');
    expect(metrics.bodyBytes.value).toBe(100);
    expect(metrics.refused.body_bytes.value).toBe(3);

    for (const exchange of [one, other, first, first]) gate.leave(exchange);
    expect(metrics.bodyBytes.value).toBe(0);
    const alone = enter();
    gate.hold(alone, 500);
    gate.hold(alone, 500);
    expect(codeOf(() => gate.hold(enter('a', true), 1))).toBe('overloaded');
    gate.leave(alone);
    expect(metrics.bodyBytes.value).toBe(0);
  });
});
