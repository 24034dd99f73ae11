import { app, call, fresh, given, useNativeApi } from '../support/native-api.js';

describe('variables of a namespace on the native API', () => {
  useNativeApi();

  it('keep any JSON as it was written', async () => {
    const name = fresh('mail.');
    const text = '{"value":{"big":12345678901234567890,"a_b":[null,1.50],"ü":"\\u0007"}}';
    expect((await call('PUT', `variables/${name}`, text)).text).toContain('"big":12345678901234567890');
    const { status, text: read } = await call('GET', `variables/${name}`);
    expect([status, read]).toEqual([
      200,
      expect.stringContaining('"big":12345678901234567890,"a_b":[null,1.50]'),
    ]);
    expect(await given('GET', 'variables')).toMatchObject({
      items: [{ name, value: { a_b: [null, 1.5], ü: '\u0007' } }],
      next_cursor: null,
    });
    expect((await call('DELETE', `variables/${name}`)).status).toBe(204);
    expect(await call('DELETE', `variables/${name}`)).toMatchObject({
      status: 404,
      json: { code: 'variable_not_found' },
    });
  });

  it('are listed by name, page by page', async () => {
    const names = ['b', 'a', 'c'].map((one) => fresh(`${one}-`));
    for (const name of names) await given('PUT', `variables/${name}`, { value: name });
    const first = await given<{ items: { name: string }[]; next_cursor: string }>('GET', 'variables?limit=2');
    const rest = await given<{ items: { name: string }[] }>(
      'GET',
      `variables?limit=2&cursor=${first.next_cursor}`,
    );
    expect([...first.items, ...rest.items].map(({ name }) => name)).toEqual([...names].sort());
    for (const name of names) await call('DELETE', `variables/${name}`);
  });

  it.each([
    ['a%2Fb', '{"value":1}', 'name'],
    ['_a', '{"value":1}', 'name'],
    ['a'.repeat(129), '{"value":1}', 'name'],
    ['a', '{}', 'value'],
    ['a', '{"value":1,"other":2}', 'other'],
    ['a', JSON.stringify({ value: 'x'.repeat(4_095) }), 'value'],
  ])('are refused under the name %.5s… with the body %.20s…', async (name, body, field) => {
    expect(await call('PUT', `variables/${name}`, body)).toMatchObject({
      status: 400,
      json: { code: 'invalid_argument', errors: [{ field }] },
    });
    expect(await given('GET', 'variables')).toMatchObject({ items: [] });
  });

  it('are read with the permission consume, and changed with the permission admin', async () => {
    const grant = async (query: string): Promise<string> => {
      const { json } = await app.admin('POST', `/token/${app.namespace}?description=d&${query}`);
      return (json as { token: string }).token;
    };
    const worker = await grant('verbs=consume');
    await given('PUT', 'variables/shared', { value: 1 });
    expect((await call('GET', 'variables/shared', undefined, { token: worker })).status).toBe(200);
    expect((await call('PUT', 'variables/shared', { value: 2 }, { token: worker })).status).toBe(403);
    expect((await call('DELETE', 'variables/shared', undefined, { token: worker })).status).toBe(403);
    const limited = await grant('verbs=consume&queues=mail');
    expect((await call('GET', 'variables', undefined, { token: limited })).status).toBe(403);
    expect(await given('GET', 'variables/shared')).toEqual({ name: 'shared', value: 1 });
    await call('DELETE', 'variables/shared');
  });
});
