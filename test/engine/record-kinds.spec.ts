import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { RECORD_KINDS } from '../../src/redis/record-kinds.js';
import { testRedisUrl } from '../support/redis.js';
import { fillWithEveryKind, kindProblems } from './every-kind.js';
import { EngineFixture } from './fixture.js';

const STORAGE_PAGE = join(import.meta.dirname, '..', '..', 'docs', 'storage.md');

/** Forms and types of the keys in the tables of docs/storage.md; a cell may have several. */
function documented(): string[] {
  const rows = readFileSync(STORAGE_PAGE, 'utf8').matchAll(/^\| (`\{ns\}.*?) \| (.*?) \| /gm);
  return [...rows].flatMap(([, keys = '', types = '']) => {
    const forms = [...keys.matchAll(/`\{ns\}([^`]+)`/g)].map(([, form = '']) => form);
    const all = [...types.matchAll(/\b(string|hash|list|set|zset|stream)s?\b/g)].map(([, type = '']) => type);
    return forms.map((form, i) => `${form} ${all[i] ?? all[0] ?? ''}`);
  });
}

describe('kinds of records', () => {
  let f: EngineFixture;
  let redis: Redis;
  beforeEach(async () => {
    f = await EngineFixture.open();
    redis = new Redis(testRedisUrl(), { protocol: 2 });
  });
  afterEach(async () => {
    redis.disconnect();
    await f.close();
  });

  it('are all in a namespace that uses everything', async () => {
    await fillWithEveryKind(f.engine, f.ns);

    expect(await kindProblems(redis, f.ns)).toEqual([]);
  });

  it('are all purged with their namespace', async () => {
    await fillWithEveryKind(f.engine, f.ns);
    const purged = await f.engine.purge.run(f.ns);

    expect(purged).toMatchObject({ isDone: true, isInUse: false });
    expect(await f.keys()).toEqual([]);
  });

  it('are those in docs/storage.md, with their types', () => {
    expect([...new Set(documented())].sort()).toEqual(
      RECORD_KINDS.map(({ form, type }) => `${form} ${type}`).sort(),
    );
  });
});
