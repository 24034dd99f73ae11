import { SETTING_KEYS } from '../../src/engine/settings/known.js';
import { TestApp } from '../support/app.js';

describe('the settings of a namespace', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await TestApp.start({ PUMPHOUSE_STATS__HISTORY_DAYS: '9' });
  });
  afterAll(() => app.stop());

  const call = (method: string, key = '', body?: string): ReturnType<TestApp['call']> =>
    app.call(method, `/v1/${app.namespace}/settings${key}`, body === undefined ? {} : { body });

  it('are listed with what holds, and who says so', async () => {
    const { status, json } = await call('GET');
    const { items, next_cursor } = json as { items: { key: string; source: string }[]; next_cursor: null };

    expect(status).toBe(200);
    expect(next_cursor).toBeNull();
    expect(items.map(({ key }) => key)).toEqual(SETTING_KEYS);
    expect(items.find(({ key }) => key === 'history_days')).toEqual({
      ...{ key: 'history_days', value: 9, default: 9, source: 'server', min: 0, max: 366 },
    });
    expect(items.find(({ key }) => key === 'grace_ms')).toMatchObject({ value: 10_000, source: 'built_in' });
  });

  it('are chosen, looked at and taken back one by one', async () => {
    const chosen = { key: 'grace_ms', value: 250, default: 10_000, source: 'namespace' };
    const put = await call('PUT', '/grace_ms', '{"value":250}');
    expect(put).toMatchObject({ status: 200, json: chosen });
    expect(await call('GET', '/grace_ms')).toMatchObject({ status: 200, json: chosen });

    expect((await call('DELETE', '/grace_ms')).status).toBe(204);
    expect((await call('DELETE', '/grace_ms')).status).toBe(204);
    expect((await call('GET', '/grace_ms')).json).toMatchObject({ value: 10_000, source: 'built_in' });
  });

  it.each([
    ['/color', '{"value":1}', 'key'],
    ['/grace_ms', '{"value":-1}', 'value'],
    ['/grace_ms', '{"value":"1"}', 'value'],
    ['/grace_ms', '{"value":1.5}', 'value'],
    ['/grace_ms', '{}', 'value'],
    ['/grace_ms', '{"value":1,"unit":"s"}', 'unit'],
    ['/grace_ms', '[1]', ''],
    ['/grace_ms', 'one', ''],
    ['/grace_ms', '', ''],
  ])('refuse PUT %s with %j, naming the field %j', async (key, body, field) => {
    const { status, json } = await call('PUT', key, body);

    expect(status).toBe(400);
    expect(json).toMatchObject({ code: 'invalid_argument', errors: [{ field }] });
    expect((await call('GET', '/grace_ms')).json).toMatchObject({ source: 'built_in' });
  });
});
