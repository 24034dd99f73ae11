import type { IncomingMessage, ServerResponse } from 'node:http';
import { Drain } from './drain.js';
import { type Door, Exchange } from './exchange.js';
import { NO_QUERY } from './query.js';

/** An exchange that notes what becomes of it. */
function exchangeAt(refuse: Door['refuse']): { exchange: Exchange; ends: string[] } {
  const ends: string[] = [];
  const door: Door = { refuse };
  const context = { drain: new Drain(), maxUrlBytes: 100, doorOf: () => door };
  const response = { destroy: () => ends.push('destroyed') } as unknown as ServerResponse;
  const names = { route: '/r', namespace: 'ns', queue: 'q', jobId: '', query: NO_QUERY };
  const exchange = new Exchange(context, {} as unknown as IncomingMessage, response, 'id', {
    door,
    ...names,
  });
  return { exchange, ends };
}

describe('an exchange', () => {
  it('goes on when its work is done', async () => {
    const { exchange } = exchangeAt(() => undefined);
    const result = await new Promise((resolve) => exchange.after(Promise.resolve(7), resolve));

    expect(result).toBe(7);
  });

  it.each<[string, (exchange: Exchange) => void]>([
    ['its work fails', (exchange) => exchange.after(Promise.reject(new Error('why')), () => undefined)],
    [
      'what follows throws',
      (exchange) =>
        exchange.after(Promise.resolve(), () => {
          throw new Error('why');
        }),
    ],
  ])('is refused by its door when %s', async (_when, run) => {
    const error = await new Promise((resolve) => run(exchangeAt((reason) => resolve(reason)).exchange));

    expect(error).toEqual(new Error('why'));
  });

  it('tidies up before it is refused', async () => {
    const order: string[] = [];
    await new Promise<void>((resolve) => {
      const { exchange } = exchangeAt(() => {
        order.push('refused');
        resolve();
      });
      exchange.after(
        Promise.reject(new Error('why')),
        () => undefined,
        () => order.push('tidied'),
      );
    });

    expect(order).toEqual(['tidied', 'refused']);
  });

  it('ends the connection when not even a refusal can be sent', () => {
    const { exchange, ends } = exchangeAt(() => {
      throw new Error('a bug');
    });
    exchange.fail(new Error('why'));

    expect(ends).toEqual(['destroyed']);
  });

  it('has no caller before somebody has let it in', () => {
    const { exchange } = exchangeAt(() => undefined);

    expect(() => exchange.caller).toThrow('a route without a token guard');
  });
});
