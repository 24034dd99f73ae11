import { type Answer, TestApp } from '../support/app.js';
import { waitFor } from '../support/redis.js';

let app: TestApp;
beforeAll(async () => {
  app = await TestApp.start();
});
afterAll(() => app.stop());

/** Calls with a token that is for queue `mine` alone. */
async function limited(): Promise<(path: string, body: object) => Promise<Answer>> {
  const made = await app.admin('POST', `/token/${app.namespace}?description=d&queues=mine`);
  const { token } = made.json as { token: string };
  return (path, body) =>
    app.call('POST', `/v1/${app.namespace}/${path}`, { body: JSON.stringify(body), token });
}

const post = (path: string, body: object): Promise<Answer> =>
  app.call('POST', `/v1/${app.namespace}/${path}`, { body: JSON.stringify(body) });
const slotsOf = async (id: string): Promise<{ skipped?: number }> =>
  (await app.call('GET', `/v1/${app.namespace}/recurring/${id}`)).json as object;
const look = async (id: string): Promise<unknown> =>
  (await app.call('GET', `/v1/${app.namespace}/jobs/${id}`)).json;

describe('a token for some queues', () => {
  it('removes and changes no job of another one by a unique key', async () => {
    const mine = await limited();
    await post('jobs', { queue: 'theirs', id: 'holder', data: 1, unique: { key: 'k', mode: 'reject' } });

    for (const mode of ['replace', 'debounce']) {
      const job = { queue: 'mine', data: 2, unique: { key: 'k', mode } };
      expect(await mine('jobs', job)).toMatchObject({ status: 409, json: { code: 'unique_key_taken' } });
      expect(await mine('recurring', { id: mode, schedule: { every_ms: 3_600_000 }, job })).toMatchObject({
        status: 201,
      });
      await waitFor(async () => (await slotsOf(mode)).skipped === 1);
    }

    expect(await look('holder')).toMatchObject({ state: 'ready', queue: 'theirs', data: 1 });
  });

  it('cancels nothing that depends on a job, for that may be in any queue', async () => {
    const mine = await limited();
    await post('jobs', { queue: 'mine', id: 'first' });
    await post('jobs', { queue: 'theirs', id: 'waits', depends_on: ['first'] });

    expect(await mine('jobs/first/cancel', { cascade: true })).toMatchObject({
      status: 403,
      json: { code: 'queue_not_allowed' },
    });
    expect(await look('waits')).toMatchObject({ state: 'blocked' });
    expect(await post('jobs/first/cancel', { cascade: true })).toMatchObject({ status: 200 });
  });
});
