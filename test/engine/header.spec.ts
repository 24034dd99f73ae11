import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { decodeHeader, HEADER_BYTES, type JobHeader } from '../../src/redis/scripts/header.js';
import { assembleScript } from '../../src/redis/lua/loader.js';
import { startRedis, type RedisProcess } from '../support/redis.js';

const LUA_DIR = join(import.meta.dirname, '..', '..', 'lua');
const FIELDS = [
  'api',
  'state',
  'flags',
  'priority',
  'tries',
  'attempts',
  'lease',
  'queue',
  'entry',
  'expires',
  'free_retries',
  'was_free',
];

/** Packs its arguments as the header of a job, and unpacks that again. */
const COMMAND = `--[[
]]

--- @requires core/header

local job = {}
for i, field in ipairs({ ${FIELDS.map((field) => `"${field}"`).join(', ')} }) do
  job[field] = tonumber(ARGV[i])
end
job.was_free = job.was_free == 1
local header = pack_job(job)
local again = pack_job(unpack_job(header .. "body"))
return { header, again == header and HEADER_BYTES or 0 }
`;

const unsigned = (bits: number): fc.Arbitrary<number> => fc.integer({ min: 0, max: 2 ** bits - 1 });
const headers: fc.Arbitrary<JobHeader> = fc.record({
  api: fc.integer({ min: 1, max: 2 }),
  state: fc.integer({ min: 1, max: 8 }),
  flags: unsigned(8),
  priority: fc.integer({ min: -128, max: 127 }),
  tries: unsigned(16),
  attempts: unsigned(16),
  lease: unsigned(31).map((half) => half * 2 + 1),
  queue: unsigned(31),
  entry: unsigned(8),
  expires: fc.integer({ min: 0, max: 2 ** 48 - 1 }),
  freeRetries: unsigned(8),
  wasFree: fc.boolean(),
});

describe('the codec of job headers', () => {
  let redis: RedisProcess;
  let client: Redis;
  beforeAll(async () => {
    redis = await startRedis();
    client = new Redis(redis.port, '127.0.0.1');
  });
  afterAll(async () => {
    client.disconnect();
    await redis.stop();
  });

  it('reads in TypeScript what Lua writes', async () => {
    const text = assembleScript('header', {}, (path) =>
      path === 'commands/header' ? COMMAND : readFileSync(join(LUA_DIR, `${path}.lua`), 'utf8'),
    );
    await fc.assert(
      fc.asyncProperty(headers, async (job) => {
        const { freeRetries, wasFree, ...fields } = job;
        const args = FIELDS.map(
          (field) => ({ ...fields, free_retries: freeRetries, was_free: wasFree ? 1 : 0 })[field] ?? 0,
        );
        const [header, size] = (await client.callBuffer('EVAL', text, 0, ...args)) as [Buffer, number];
        expect(size).toBe(HEADER_BYTES);
        expect(header).toHaveLength(HEADER_BYTES);
        expect(decodeHeader(header)).toEqual(job);
      }),
      { numRuns: 200 },
    );
  });
});

describe('the Lua files', () => {
  const files = readdirSync(LUA_DIR, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.lua') && path !== join('modules', 'core', 'header.lua'))
    .map((path) => ({ path, code: readFileSync(join(LUA_DIR, path), 'utf8').replaceAll(/--.*$/gm, '') }));
  const found = (pattern: RegExp): string[] =>
    files.flatMap(({ path, code }) => [...code.matchAll(pattern)].map(([text]) => `${path}: ${text}`));

  it('have struct formats of their own records only: those of a header are in core/header', () => {
    expect(found(/">[^"]*"/g).sort()).toEqual([
      'modules/jobs/dependency_results.lua: ">I4"',
      'modules/jobs/idempotency.lua: ">I2I2c16c16I6B"',
      'modules/jobs/schedule.lua: ">I6"',
      'modules/jobs/schedule.lua: ">I6"',
    ]);
  });

  it('have no offset in a header as a number', () => {
    expect(found(/string\.(?:sub|byte)\((?:\w+\.)?(?:value|head|header|batch\[\w+\]), \d.*$/gm)).toEqual([]);
    expect(found(/"[GS]ETRANGE", [^,]+, "?[1-9].*$/gm)).toEqual([]);
    expect(found(/"GETRANGE", [^,]+, "0", "?\d.*$/gm)).toEqual([]);
  });
});
