import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { type Answer, TestApp } from '../support/app.js';
import { type AnswerCheck, answerCheck } from '../support/openapi.js';
import { randomFrom } from '../support/random.js';
import { randomNamespace, type RedisProcess } from '../support/redis.js';
import { FinalState } from './final-state.js';
import { hangUp, sendsAll, STAGES } from './hang-up.js';
import { nowMs, type Operation } from './job-log.js';
import { LeaseRules } from './lease-rules.js';
import { newWorld, type Planned, RandomCalls, type World } from './random-calls.js';
import { IS_LONG, ROUNDS, SEED } from '../support/scale.js';

const CLIENTS = 16;
/** After so many calls all must be in order. */
const CALLS = 1_500;
/** 3,000 calls, or 50,000 in 20 rounds. */
const RUNS = IS_LONG ? Math.ceil((ROUNDS * 2_500) / CALLS) : 2;
const REUSED_ULIDS = 4;
/** How long Redis stalls at most, and serves in between, in ms. */
const STALL_MS = 300;
const BREAK_MS = 1_200;
/** How often a client hangs up: usually, and while Redis stalls. */
const HANG_UPS = { usual: 0.08, stalled: 0.4 };
/** Tokens of a run that only clients use which hang up, and how often they do. */
const TOKENS = 40;
const FRESH_TOKENS = 0.4;
const SHOWN_JOBS = 4;

const LMSTFY_STATUSES = [200, 201, 204, 404, 409, 503, 507];
const V1_REFUSALS = [
  ...['lease_lost', 'job_exists', 'unique_key_taken', 'has_dependents', 'job_done', 'not_waiting'],
  ...['due_unknown', 'queue_draining', 'queue_not_empty', 'job_not_found', 'queue_not_found'],
  ...['dependency_cycle', 'too_many_dependencies'],
];
const UNAVAILABLE = [503, 507];

describe('a state machine that is independent of the engine', () => {
  let redis: RedisProcess;
  let client: Redis;
  let apps: TestApp[];
  let check: AnswerCheck;
  beforeAll(async () => {
    const alone = await TestApp.alone();
    ({ redis, client } = alone);
    apps = [alone.app, await TestApp.start({ PUMPHOUSE_POOLS__DEFAULT__URL: redis.url })];
    check = answerCheck((await alone.app.get('/v1/openapi.json', { token: null })).json);
  });
  afterAll(async () => {
    for (const app of [...apps].reverse()) await app.stop();
  });

  const tokenFor = async (namespace: string): Promise<string> => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const { json } = await apps[0]!.admin('POST', `/token/${namespace}`, {
      body: 'description=test',
      headers,
    });
    return (json as { token: string }).token;
  };

  /** ULIDs are made by servers: those of jobs that were published once. */
  const ulids = async (namespace: string, token: string): Promise<string[]> => {
    const body = JSON.stringify(Array.from({ length: REUSED_ULIDS }, () => ({ for: 'minted' })));
    const { json } = await apps[0]!.put(`/api/${namespace}/a/bulk`, body, { token });
    return (json as { job_ids: string[] }).job_ids;
  };

  /** What is wrong with an answer; null = nothing. */
  const fault = ({ request: { method, path }, refusals = [] }: Planned, answer: Answer): string | null => {
    const { status, json, text } = answer;
    if (UNAVAILABLE.includes(status))
      return answer.headers['retry-after'] === undefined ? 'no Retry-After' : null;
    if (path.startsWith('/api/')) {
      const isRight = LMSTFY_STATUSES.includes(status) && (status === 204 ? text === '' : json !== undefined);
      return isRight ? null : `${status} ${text}`;
    }
    const { code } = (json ?? {}) as { code?: string };
    if (status >= 400 && ![...V1_REFUSALS, ...refusals].includes(code ?? '')) return `${status} ${text}`;
    try {
      check(method, `/${path.split('?')[0]!.split('/').slice(3).join('/')}`, answer);
      return null;
    } catch (error) {
      return error instanceof Error ? error.message : 'not as the document says';
    }
  };

  const play = async (seed: number): Promise<string> => {
    const namespace = randomNamespace('machine');
    const token = await tokenFor(namespace);
    // What does not say how long its leases last is not waited for either.
    await apps[0]!.call('PUT', `/v1/${namespace}/settings/ttr_ms`, { token, body: '{"value":300}' });
    const tokens = await Promise.all(Array.from({ length: TOKENS }, () => tokenFor(namespace)));
    const reused = await ulids(namespace, token);
    const rules = new LeaseRules((id) => reused.includes(id));
    const world: World = newWorld(namespace, rules, reused);
    let [calls, isStalled, isOver] = [0, false, false];

    const make = async (planned: Planned, app: TestApp, random: () => number): Promise<void> => {
      const { request, concerns, stages } = planned;
      const text = `${request.method} ${request.path} ${request.body ?? ''}`;
      const operations = concerns.map(([about, effects]) => rules.log.begin(about, text, effects));
      const isOpen = ({ untilMs }: Operation): boolean => untilMs === Number.POSITIVE_INFINITY;
      planned.before?.(operations);
      const sentMs = nowMs();
      const headers = { 'x-token': token, ...request.headers };
      if (stages || random() < (isStalled ? HANG_UPS.stalled : HANG_UPS.usual)) {
        const of = stages ?? STAGES;
        const stage = of[Math.floor(random() * of.length)]!;
        // With a token that no server knows yet, Redis is asked before the body is read.
        const fresh = random() < FRESH_TOKENS ? tokens.pop() : undefined;
        const known = fresh === undefined ? headers : { ...headers, 'x-token': fresh };
        await hangUp(app.port, { ...request, headers: known }, stage, random);
        for (const one of operations)
          if (sendsAll(stage)) rules.log.unknown(one, `hung up ${stage}`);
          else rules.log.refused(one, `hung up ${stage}`);
        planned.failed?.(null, operations);
        return;
      }
      const { method, path, body } = request;
      const answer = await app.call(method, path, {
        token: null,
        headers,
        ...(body === undefined ? {} : { body }),
      });
      const wrong = fault(planned, answer);
      if (wrong !== null) rules.report(concerns[0]?.[0] ?? '', `${text}: ${wrong}`);
      const outcome = `${answer.status} ${answer.text.slice(0, 200)}`;
      if (answer.status < 300) planned.onAnswer?.(answer, operations, sentMs);
      else planned.failed?.(answer, operations);
      for (const one of operations.filter(isOpen)) {
        if (answer.status >= 500) rules.log.unknown(one, outcome);
        else if (answer.status >= 400) rules.log.refused(one, outcome);
        else rules.log.answered(one, outcome);
      }
    };

    const clients = Array.from({ length: CLIENTS }, async (_, i) => {
      const random = randomFrom(seed + 7_919 * (i + 1));
      const draw = new RandomCalls(world, random);
      while (calls++ < CALLS) await make(draw.next(), apps[Math.floor(random() * apps.length)]!, random);
    });
    const stall = async (): Promise<void> => {
      const random = randomFrom(seed);
      while (!isOver) {
        await sleep(BREAK_MS * (0.2 + random()));
        const forMs = Math.round(STALL_MS * (0.2 + 0.8 * random()));
        isStalled = true;
        if (random() < 0.5) await client.call('CLIENT', 'PAUSE', forMs, 'ALL');
        else process.kill(redis.pid, 'SIGSTOP');
        await sleep(forMs);
        process.kill(redis.pid, 'SIGCONT');
        isStalled = false;
      }
    };
    const stalls = stall();
    await Promise.all(clients).finally(() => (isOver = true));
    await stalls;

    const final = new FinalState(apps, client, world, token);
    await final.judge();
    const problems = [...rules.problems, ...final.problems];
    if (problems.length === 0) return '';
    const tails = [...rules.suspects]
      .slice(0, SHOWN_JOBS)
      .map(([id, tail]) => `  the last calls that concern ${id}:\n${tail}`);
    return [`PUMPHOUSE_CHAOS_SEED=${SEED}, calls of seed ${seed}:`, ...problems, ...tails].join('\n');
  };

  it(
    `finds each job in one place and under one lease, over ${RUNS} × ${CALLS} calls of 16 clients`,
    async () => {
      for (let run = 0; run < RUNS; run++) expect(await play((SEED + run * 104_729) % 2 ** 31)).toBe('');
    },
    300_000 + RUNS * 60_000,
  );
});
