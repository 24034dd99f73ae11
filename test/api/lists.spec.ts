import { app, call, given, useNativeApi } from '../support/native-api.js';

useNativeApi();

interface Page {
  readonly items: readonly Readonly<Record<string, unknown>>[];
  readonly next_cursor: string | null;
}

/** The names on all pages of a list, each of `limit` items. */
async function namesOf(path: string, name: string, limit: number): Promise<unknown[]> {
  const names: unknown[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const page: Page = await given('GET', `${path}?limit=${String(limit)}${cursor && `&cursor=${cursor}`}`);
    expect(page.items.length).toBeLessThanOrEqual(limit);
    names.push(...page.items.map((item) => item[name]));
    cursor = page.next_cursor;
  }
  return names;
}

describe('lists in pages', () => {
  it('are those of settings, by name, all on one page if no limit is given', async () => {
    const whole = await given<Page>('GET', 'settings');
    const keys = whole.items.map(({ key }) => key);
    expect(whole.next_cursor).toBeNull();
    expect(keys.length).toBeGreaterThan(5);
    expect(keys).toEqual([...keys].sort());
    for (const limit of [1, 3, keys.length, 1_000])
      expect(await namesOf('settings', 'key', limit)).toEqual(keys);
  });

  it('are those of targets, by name, and a page follows a target that was deleted meanwhile', async () => {
    const names = ['b', 'a', '_', 'C', 'd'];
    for (const name of names) await given('PUT', `targets/${name}`, { url: 'https://example.com/' });
    const sorted = [...names].sort();
    expect((await given<Page>('GET', 'targets')).items.map(({ name }) => name)).toEqual(sorted);
    for (const limit of [1, 2, 5]) expect(await namesOf('targets', 'name', limit)).toEqual(sorted);
    const first = await given<Page>('GET', 'targets?limit=2');
    await call('DELETE', `targets/${sorted[1]!}`);
    const next = await given<Page>('GET', `targets?limit=2&cursor=${first.next_cursor!}`);
    expect(next.items.map(({ name }) => name)).toEqual(sorted.slice(2, 4));
  });

  it.each(['settings', 'targets'])('refuse a wrong limit or cursor: %s', async (path) => {
    for (const [query, field] of [
      ['limit=0', 'limit'],
      ['limit=1001', 'limit'],
      ['limit=x', 'limit'],
      ['cursor=%21', 'cursor'],
    ]) {
      const answer = await call('GET', `${path}?${query!}`);
      expect(answer).toMatchObject({ status: 400, json: { errors: [{ field }] } });
    }
  });

  it('take limit and cursor wherever the answer has next_cursor', async () => {
    const { json } = await app.get('/v1/openapi.json', { token: null });
    const { paths, components } = json as {
      paths: Record<string, Record<string, { parameters?: { name: string }[]; responses: object }>>;
      components: { schemas: Record<string, { properties?: object }> };
    };
    const paged = Object.entries(components.schemas)
      .filter(([, { properties }]) => properties !== undefined && 'next_cursor' in properties)
      .map(([name]) => `schemas/${name}"`);
    const lists = Object.entries(paths).flatMap(([path, { get }]) =>
      get !== undefined && paged.some((name) => JSON.stringify(get.responses).includes(name))
        ? [[path, (get.parameters ?? []).map(({ name }) => name)] as const]
        : [],
    );
    expect(lists.length).toBeGreaterThan(8);
    const wanting = lists.filter(([, names]) => !names.includes('limit') || !names.includes('cursor'));
    expect(wanting).toEqual([]);
  });
});
