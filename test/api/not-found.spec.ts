import { app, call, fresh, publish, useNativeApi } from '../support/native-api.js';

/** A call whose path names something. */
interface NamingCall {
  readonly method: string;
  /** What follows the namespace. */
  readonly path: string;
  readonly body: object | undefined;
}
interface Operation {
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example: object }>> };
}

/** What a path names, by the word before the name. */
const KINDS: Readonly<Record<string, { readonly code: string; readonly what: string }>> = {
  jobs: { code: 'job_not_found', what: 'job' },
  tracked: { code: 'job_not_found', what: 'job' },
  queues: { code: 'queue_not_found', what: 'queue' },
  recurring: { code: 'recurring_not_found', what: 'recurring job' },
  workers: { code: 'worker_not_found', what: 'worker' },
  targets: { code: 'target_not_found', what: 'target' },
  variables: { code: 'variable_not_found', what: 'variable' },
  operations: { code: 'operation_not_found', what: 'operation' },
};
/** Calls that make what they name, and those that are right whether it is there or not: their status. */
const MAKES: Readonly<Record<string, number>> = {
  'GET /queues/{queue}': 200,
  'GET /queues/{queue}/explain': 200,
  'GET /queues/{queue}/keys': 200,
  'PATCH /queues/{queue}': 200,
  'POST /queues/{queue}/pause': 200,
  'PUT /jobs/{id}': 201,
  'PUT /recurring/{id}': 200,
  'PUT /targets/{name}': 200,
  'PUT /variables/{name}': 200,
  'DELETE /tracked/{id}': 200,
  // A worker without a session has waits too.
  'DELETE /workers/{name}/waits': 204,
  // With `info`, as in its example, it begins a session.
  'POST /workers/{name}/heartbeat': 200,
};
/** Parameters that a call requires. */
const QUERY: Readonly<Record<string, string>> = { 'DELETE /jobs/{id}/tags': '?tag=a' };
/** There are only so many settings: a wrong one is a wrong value. */
const ONE_OF = /^\/settings\//;

const noSuch = (what: string, name: string): string => {
  const gone = ': acknowledged, deleted, expired and replaced jobs leave no record without retention_ms';
  return `there is no ${what} ${name}${what === 'job' ? gone : ''}`;
};

describe('an unknown name in a path', () => {
  useNativeApi();

  let calls: NamingCall[];
  beforeAll(async () => {
    const { json } = await app.get('/v1/openapi.json', { token: null });
    const { paths } = json as { paths: Record<string, Record<string, Operation>> };
    calls = Object.entries(paths).flatMap(([template, item]) => {
      const path = template.replace('/v1/{namespace}', '');
      if (!path.includes('{')) return [];
      return Object.entries(item)
        .filter(([method]) => method !== 'parameters')
        .map(([method, { requestBody }]) => ({
          method: method.toUpperCase(),
          path,
          body: requestBody?.content['application/json']?.example,
        }));
    });
  });

  const send = ({ method, path, body }: NamingCall, name: string) =>
    call(method, path.slice(1).replace(/\{\w+\}/, name) + (QUERY[`${method} ${path}`] ?? ''), body);
  const kindOf = ({ path }: NamingCall) => KINDS[path.split('/')[1] ?? ''];

  it('gets 404 with its kind and itself from every call that does not create it', async () => {
    const made: string[] = [];
    expect(calls.length).toBeGreaterThan(25);
    for (const one of calls) {
      const shown = `${one.method} ${one.path}`;
      const name = fresh('none-');
      const { status, json, headers } = await send(one, name);
      if (ONE_OF.test(one.path)) {
        expect([shown, status, json]).toEqual([
          shown,
          400,
          expect.objectContaining({
            errors: [{ field: 'key', rule: expect.stringMatching(/^must be one of /) as unknown }],
          }),
        ]);
      } else if (shown in MAKES) {
        made.push(shown);
        expect([shown, status]).toEqual([shown, MAKES[shown]]);
      } else {
        const { code, what } = kindOf(one)!;
        const detail = noSuch(what, name);
        const problem = { code, detail, status: 404, title: 'Not Found', type: 'about:blank' };
        expect([shown, status, json]).toEqual([shown, 404, problem]);
        expect(headers['content-type']).toBe('application/problem+json');
      }
    }
    expect(made.sort()).toEqual(Object.keys(MAKES).sort());
  });

  it('gets 404 from a get or purge after the job or queue of that name was deleted', async () => {
    const queue = fresh();
    const { id } = await publish({ queue });
    expect((await call('POST', `queues/${queue}/purge`, { states: ['ready'] })).json).toMatchObject({
      jobs: { ready: 1 },
    });
    expect((await call('GET', `jobs/${id}`)).json).toMatchObject({ detail: noSuch('job', id) });
    expect((await call('DELETE', `queues/${queue}`)).status).toBe(204);
    for (const dry_run of [true, false]) {
      expect(
        (await call('POST', `queues/${queue}/purge`, { states: ['ready'], dry_run })).json,
      ).toMatchObject({
        ...{ code: 'queue_not_found', detail: `there is no queue ${queue}` },
      });
    }
  });

  it('is repeated in the answer with any characters, cut to 128 if it is longer', async () => {
    const long = 'x'.repeat(1_000);
    for (const one of calls) {
      const shown = `${one.method} ${one.path}`;
      // Queues have a rule for names, which comes first.
      if (shown in MAKES || one.path.startsWith('/queues/') || ONE_OF.test(one.path)) continue;
      const { code, what } = kindOf(one)!;
      for (const [name, repeated] of [
        [long, `${long.slice(0, 128)}…`],
        ['__proto__', '__proto__'],
        ['%3Cb%3E%22', '<b>"'],
      ] as const) {
        const { status, json } = await send(one, name);
        const problem = { code, detail: noSuch(what, repeated) };
        expect([shown, status, json]).toEqual([shown, 404, expect.objectContaining(problem)]);
      }
    }
  });

  it('gets 400 if it is no valid queue name', async () => {
    for (const one of calls.filter(({ path }) => path.startsWith('/queues/'))) {
      for (const name of ['a.b', '_a', 'q'.repeat(256)]) {
        const { status, json } = await send(one, name);
        expect([one, name, status, json]).toEqual([
          ...[one, name, 400],
          expect.objectContaining({ code: 'invalid_argument' }),
        ]);
      }
    }
  });

  it("gets the same 404 as a name outside the token's queues", async () => {
    const description = 'description=d&queues=mine*&verbs=publish,consume,admin';
    const answer = await app.admin('POST', `/token/${app.namespace}?${description}`);
    const { token } = answer.json as { token: string };
    const id = fresh('foreign-');
    await publish({ queue: 'theirs', id });
    const recurring = { schedule: { every_ms: 3_600_000, offset_ms: 3_600_000 }, job: { queue: 'theirs' } };
    expect((await call('PUT', `recurring/${id}`, recurring)).status).toBe(200);
    const seen = async (): Promise<unknown[]> => {
      const answers: unknown[] = [];
      for (const one of calls) {
        const { method, path, body } = one;
        if (!/^\/(jobs|recurring)\//.test(path) || method === 'PUT') continue;
        const target = path.slice(1).replace(/\{\w+\}/, id) + (QUERY[`${method} ${path}`] ?? '');
        const { status, json } = await call(method, target, body, { token });
        answers.push([method, path, status, json]);
      }
      return answers;
    };
    const there = await seen();
    await call('POST', 'queues/theirs/purge', { states: ['ready'] });
    await call('DELETE', `recurring/${id}`);
    expect(there).toEqual(await seen());
    expect(there.every((one) => (one as unknown[])[2] === 404)).toBe(true);
  });
});
