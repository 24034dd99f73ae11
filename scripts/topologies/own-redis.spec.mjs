import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { OWN_REDIS } from './own-redis.mjs';

const ROOT = join(import.meta.dirname, '..', '..');
const STARTS_ITS_OWN =
  /startRedis\(|ScriptWatch\.start\(|TestCluster\.start|SentinelGroup\.start|BuiltServer\.create/;
const USES_THE_SHARED_ONE =
  /TestApp\.start\(|EngineFixture\.(open|withClock)\(|testPools\((undefined|\))|testTarget(Env)?\(\)/;

const specs = ['test/engine', 'test/api', 'test/properties'].flatMap((folder) =>
  readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith('.spec.ts'))
    .map((name) => `${folder}/${name}`),
);

describe('the list of specs for the topologies', () => {
  it('leaves out only existing specs, each with a reason, and less than half of all', () => {
    expect(specs.length).toBeGreaterThan(Object.keys(OWN_REDIS).length * 2);
    expect(Object.keys(OWN_REDIS).filter((spec) => !specs.includes(spec))).toEqual([]);
    expect(Object.values(OWN_REDIS).filter((reason) => reason === '')).toEqual([]);
  });

  it.each(specs.filter((spec) => !(spec in OWN_REDIS)))(
    'has only specs that use the Redis of the run: %s',
    (spec) => {
      const text = readFileSync(join(ROOT, spec), 'utf8');
      expect(!STARTS_ITS_OWN.test(text) || USES_THE_SHARED_ONE.test(text)).toBe(true);
    },
  );
});
