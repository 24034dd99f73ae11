import { waitFor } from '../support/redis.js';
import { TestApp } from '../support/app.js';

interface Stats {
  readonly day: string;
  readonly waits: { readonly count: number };
  readonly runs: { readonly count: number; readonly histogram: readonly { readonly bin: string }[] };
  readonly failures: number;
  readonly retries: number;
}

describe('the statistics of a queue', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await TestApp.start();
  });
  afterAll(() => app.stop());

  const stats = async (query: string): Promise<Stats> => {
    const { status, json, text } = await app.get(`/v1/${app.namespace}/stats?${query}`);
    if (status !== 200) throw new Error(text);
    return json as Stats;
  };
  const today = (): string => new Date().toISOString().slice(0, 10);

  it('tell what became of its jobs, within a second or so', async () => {
    const begun = today();
    await app.publish('mail?tries=1');
    const id = await app.publish('mail');
    for (let i = 0; i < 2; i++) await app.get('mail?ttr=1');
    expect((await app.delete(`mail/job/${id}`)).status).toBe(204);
    const seen = await waitFor(async () => {
      const found = await stats(`queue=mail&day=${begun}`);
      return found.failures === 1 ? found : null;
    }, 10_000);

    // At midnight the day changes in mid-test.
    if (today() !== begun) return;
    expect(seen).toMatchObject({ day: begun, waits: { count: 2 }, failures: 1, retries: 0 });
    expect(seen.runs).toMatchObject({ count: 1 });
    expect(await stats('queue=mail')).toEqual(seen);
    expect(await stats('queue=mail&day=2020-02-29')).toMatchObject({ waits: { count: 0 } });
  });

  it('are refused with the name of the field that is wrong', async () => {
    const { status, headers, json } = await app.get(`/v1/${app.namespace}/stats?day=yesterday`);

    expect(status).toBe(400);
    expect(headers['content-type']).toBe('application/problem+json');
    expect(json).toMatchObject({
      code: 'invalid_argument',
      errors: [{ field: 'queue' }, { field: 'day', rule: expect.stringContaining('YYYY-MM-DD') as string }],
    });
  });
});
