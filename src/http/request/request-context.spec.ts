import type { IncomingMessage, ServerResponse } from 'node:http';
import { Drain } from './drain.js';
import { LoadShedder, UNLIMITED } from './load-shedder.js';
import { type ApiErrors, RequestContext, SILENT } from './request-context.js';
import { FloodMetrics } from '../../metrics/flood-metrics.js';
import { Metrics } from '../../metrics/metrics.js';
import { NO_QUERY } from './head.js';

/** A request context that records how it ends. */
function contextAt(refuse: ApiErrors['refuse']): { context: RequestContext; ends: string[] } {
  const ends: string[] = [];
  const errors: ApiErrors = { refuse };
  const server = {
    drain: new Drain(),
    maxUrlBytes: 100,
    maxJsonDepth: 64,
    errorsOf: () => errors,
    observer: SILENT,
    loadShedder: new LoadShedder(UNLIMITED, new FloodMetrics(new Metrics())),
  };
  const response = { destroy: () => ends.push('destroyed') } as unknown as ServerResponse;
  const names = { route: '/r', namespace: 'ns', queue: 'q', jobId: '', query: NO_QUERY };
  const context = new RequestContext(server, {} as unknown as IncomingMessage, response, 'id', {
    errors,
    ...names,
  });
  return { context, ends };
}

describe('a request context', () => {
  it('calls the next step with the result of its work', async () => {
    const { context } = contextAt(() => undefined);
    const result = await new Promise((resolve) => context.after(Promise.resolve(7), resolve));

    expect(result).toBe(7);
  });

  it.each<[string, (context: RequestContext) => void]>([
    ['its work fails', (context) => context.after(Promise.reject(new Error('why')), () => undefined)],
    [
      'the next step throws',
      (context) =>
        context.after(Promise.resolve(), () => {
          throw new Error('why');
        }),
    ],
  ])('passes the error to the error responder of its API when %s', async (_when, run) => {
    const error = await new Promise((resolve) => run(contextAt((reason) => resolve(reason)).context));

    expect(error).toEqual(new Error('why'));
  });

  it('releases its resources before it is refused', async () => {
    const order: string[] = [];
    await new Promise<void>((resolve) => {
      const { context } = contextAt(() => {
        order.push('refused');
        resolve();
      });
      context.after(
        Promise.reject(new Error('why')),
        () => undefined,
        () => order.push('tidied'),
      );
    });

    expect(order).toEqual(['tidied', 'refused']);
  });

  it('closes the connection if the refusal cannot be sent', () => {
    const { context, ends } = contextAt(() => {
      throw new Error('a bug');
    });
    context.fail(new Error('why'));

    expect(ends).toEqual(['destroyed']);
  });

  it('throws an error if its caller is read before the token was checked', () => {
    const { context } = contextAt(() => undefined);

    expect(() => context.caller).toThrow('a route without a token guard');
  });
});
