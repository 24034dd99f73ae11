import { connect, type EnginePumphouse } from '../../packages/engine/src/index.js';
import { testTarget } from '../support/redis.js';
import { app, call, fresh, given, publish, useNativeApi } from '../support/native-api.js';

useNativeApi();

const AT = '2030-01-02T03:04:05.678';
/** The usual forms of Java, Go, .NET, Python and JavaScript. */
const FORMS = [
  [`${AT}901234Z`, `${AT}Z`],
  [`${AT}9012Z`, `${AT}Z`],
  [`${AT}901+00:00`, `${AT}Z`],
  ['2030-01-02T05:04:05.6+02:00', '2030-01-02T03:04:05.600Z'],
  ['2030-01-02t03:04:05z', '2030-01-02T03:04:05.000Z'],
] as const;
const FAULTS = [
  ['2030-02-30T00:00:00Z', 'there is no day 2030-02-30'],
  ['2030-01-02T03:04Z', 'the seconds are missing'],
  ['2030-01-02T03:04:05.678901', 'the offset is missing'],
  ['2030-01-02', 'the time of the day and its offset are missing'],
  ['2016-12-31T23:59:60Z', 'a second is 00 to 59'],
] as const;

const SCHEDULE = { cron: '0 9 * * *', tz: 'UTC' };
/** Each field of a request that has a time: the call, and how it is given there. */
const FIELDS: readonly (readonly [call: string, field: string, body: (at: string) => object])[] = [
  ['POST jobs', 'run_at', (run_at) => ({ queue: 'q', run_at })],
  ['POST jobs', 'jobs[0].run_at', (run_at) => ({ jobs: [{ queue: 'q', run_at }] })],
  ['PUT jobs/put', 'run_at', (run_at) => ({ queue: 'q', run_at })],
  ['PATCH jobs/put', 'due_at', (due_at) => ({ due_at })],
  [
    'POST recurring',
    'schedule.first_at',
    (first_at) => ({ schedule: { every_ms: 60_000, first_at }, job: { queue: 'q' } }),
  ],
  [
    'PUT recurring/r',
    'schedule.start_at',
    (start_at) => ({ schedule: { ...SCHEDULE, start_at }, job: { queue: 'q' } }),
  ],
  ['PATCH recurring/r', 'schedule.end_at', (end_at) => ({ schedule: { ...SCHEDULE, end_at } })],
  ['POST recurring/preview', 'schedule.end_at', (end_at) => ({ schedule: { ...SCHEDULE, end_at } })],
  ['POST dead-letter/delete', 'filter.from', (from) => ({ filter: { from } })],
  ['POST dead-letter/move', 'filter.to', (to) => ({ filter: { to }, to_queue: 'q' })],
  ['POST dead-letter/respawn', 'filter.to', (to) => ({ filter: { to } })],
  [
    'POST workers/w/heartbeat',
    'info.started_at',
    (started_at) => ({ ttr_ms: 1_000, leases: [], info: { name: 'w', started_at } }),
  ],
];

const errorsOf = ({ json }: { readonly json: unknown }) =>
  (json as { errors?: { field: string; rule: string }[] }).errors ?? [];

describe('times of requests', () => {
  beforeAll(async () => {
    await given('PUT', 'jobs/put', { queue: 'q', delay_ms: 3_600_000 });
    await given('PUT', 'recurring/r', { schedule: SCHEDULE, job: { queue: 'q' } });
  });

  it.each(FIELDS)('are read to the millisecond: %s %s', async (name, _field, body) => {
    const [method = '', path = ''] = name.split(' ');
    for (const [form] of FORMS) {
      const { status, text } = await call(method, path, body(form));
      expect({ form, text, isRead: status < 300 }).toMatchObject({ form, isRead: true });
    }
  });

  it.each(FIELDS)('are refused with the reason: %s %s', async (name, field, body) => {
    const [method = '', path = ''] = name.split(' ');
    for (const [form, reason] of FAULTS) {
      const answer = await call(method, path, body(form));
      expect(answer.status).toBe(400);
      expect(errorsOf(answer)).toEqual([{ field, rule: expect.stringContaining(reason) as string }]);
    }
  });

  it.each(['from', 'to'])('are read in a query: %s', async (field) => {
    const list = (at: string) => call('GET', `dead-letter?${field}=${encodeURIComponent(at)}`);
    for (const [form] of FORMS) expect((await list(form)).status).toBe(200);
    for (const [form, reason] of FAULTS) {
      expect(errorsOf(await list(form))).toEqual([
        { field, rule: expect.stringContaining(reason) as string },
      ]);
    }
  });

  it.each(FORMS)('are shown cut to milliseconds: %s', async (form, shown) => {
    const { id } = await publish({ queue: fresh(), run_at: form });
    expect(await given('GET', `jobs/${id}`)).toMatchObject({ due_at: shown });
    const body = { schedule: { ...SCHEDULE, start_at: form, end_at: '2031-01-01T00:00:00Z' } };
    expect(await given('PATCH', 'recurring/r', body)).toMatchObject({ schedule: { start_at: shown } });
  });

  it('are all in the table of this spec', async () => {
    const { json } = await app.get('/v1/openapi.json', { token: null });
    const named = new Set([...FIELDS.map(([, field]) => field), 'from', 'to'].map(lastOf));
    expect([...timesOf(json)].sort()).toEqual([...named].sort());
  });
});

describe('times of the engine in a process', () => {
  let pumphouse: EnginePumphouse;
  beforeAll(async () => {
    pumphouse = await connect({ redis: testTarget(), namespace: app.namespace });
  });
  afterAll(() => pumphouse.close());

  it.each(FORMS)('are read as those of the API: %s', async (runAt, shown) => {
    const { id } = await pumphouse.publish({ queue: fresh('engine'), runAt });
    expect((await pumphouse.jobs.get(id)).dueAt).toBe(shown);
  });

  it.each(FAULTS)('are refused with field and reason: %s', async (at, reason) => {
    const refusal = (field: string) => ({
      code: 'invalid_argument',
      message: expect.stringMatching(new RegExp(`${field} must be a time such as .*: ${reason}`)) as string,
    });
    await expect(pumphouse.publish({ queue: 'q', runAt: at })).rejects.toMatchObject(refusal('runAt'));
    await expect(pumphouse.jobs.update('put', { dueAt: at })).rejects.toMatchObject(refusal('dueAt'));
    const schedule = { ...SCHEDULE, startAt: at };
    await expect(pumphouse.recurring.preview(schedule)).rejects.toMatchObject(refusal('schedule.startAt'));
    await expect(pumphouse.deadLetter.list({ from: at })).rejects.toMatchObject(refusal('from'));
  });
});

function lastOf(path: string): string {
  return path.split('.').at(-1) ?? '';
}

/** The names of all fields and parameters of requests that are times. */
function timesOf(document: unknown): ReadonlySet<string> {
  const { paths, components } = document as {
    paths: Record<string, Record<string, Record<string, unknown>>>;
    components: { schemas: Record<string, unknown> };
  };
  const names = new Set<string>();
  const seen = new Set<string>();
  const walk = (node: unknown, name = ''): void => {
    if (typeof node !== 'object' || node === null) return;
    const { format, $ref, ...rest } = node as { format?: unknown; $ref?: string };
    if (format === 'date-time') names.add(name);
    if ($ref !== undefined && !seen.has($ref)) {
      seen.add($ref);
      walk(components.schemas[$ref.split('/').at(-1) ?? ''], name);
    }
    const known = ['properties', 'items', 'schema', 'content', 'oneOf', 'anyOf', 'allOf'];
    for (const [key, one] of Object.entries(rest)) {
      if (key === 'properties') for (const [field, of] of Object.entries(one as object)) walk(of, field);
      else if (known.includes(key) || key.includes('/') || /^\d+$/.test(key)) walk(one, name);
    }
  };
  for (const operation of Object.values(paths).flatMap((path) => Object.values(path))) {
    walk(operation['requestBody']);
    for (const parameter of (operation['parameters'] ?? []) as { name: string; schema: unknown }[])
      walk(parameter.schema, parameter.name);
  }
  return names;
}
