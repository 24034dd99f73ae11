import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { encodeId } from '../../src/engine/core/ids.js';
import { kindOf } from '../../src/redis/record-kinds.js';
import { Audit } from '../engine/audit.js';
import { edgeProblems } from '../engine/edge-audit.js';
import { auditIndexes } from '../engine/index-audit.js';
import type { Answer, TestApp } from '../support/app.js';
import { waitFor } from '../support/redis.js';
import type { JobLog } from './job-log.js';
import { CHOSEN, FAR_MS, QUEUES, type World } from './random-calls.js';

const STATES = ['ready', 'scheduled', 'blocked', 'held', 'leased', 'dead', 'done', 'cancelled'] as const;
type State = (typeof STATES)[number];
type Lists = Readonly<Record<State, readonly ListedJob[]>>;

interface ListedJob {
  readonly id: string;
  readonly priority: number;
  readonly due_at?: string | null;
}
interface Leased {
  readonly queue: string;
  readonly id: string;
  readonly lease?: number;
}
interface QueueFacts {
  readonly counts: Readonly<Record<State, number>>;
  readonly length: number;
}

/** Those that a run may have set and that change what is looked at. */
const NO_SETTINGS = { max_running: null, max_running_per_key: null, max_kept: null, defaults: null };
/** What is due sooner is waited for, in ms. */
const NEAR_MS = 60_000;
/** Jobs with a short ttl have expired by then, in ms: one that expires between two looks would be counted and not listed. */
const SHORT_TTL_MS = 1_100;
/** Leases, delays and ttls of the run are over by then, in ms. */
const CALM_MS = 15_000;
const GAUGES_MS = 5_000;
const GAUGES = ['pumphouse_http_in_flight', 'pumphouse_waiters', 'pumphouse_event_streams'];

/** What must hold when all clients of a namespace have gone: looks, drains, removes, and says what is wrong. */
export class FinalState {
  readonly problems: string[] = [];
  private readonly listed = new Map<string, string>();

  constructor(
    private readonly apps: readonly TestApp[],
    private readonly redis: Redis,
    private readonly world: World,
    private readonly token: string,
  ) {}

  async judge(): Promise<void> {
    await this.endRun();
    await this.checkGauges();
    await this.calm();
    await this.checkKeys('after the run');
    for (const queue of QUEUES) await this.checkCounts(queue);
    this.checkLost(this.world.rules.log);
    await this.drain('the run');
    await this.respawn();
    await this.checkKeys('after the drain');
    await this.remove();
    await this.playAgain();
    await this.checkNothingLeft();
  }

  private async endRun(): Promise<void> {
    for (const queue of QUEUES) {
      await this.v1('POST', `queues/${queue}/resume`, {});
      await this.v1('PATCH', `queues/${queue}`, NO_SETTINGS);
    }
  }

  private async checkGauges(): Promise<void> {
    for (const [i, app] of this.apps.entries()) {
      let busy: string[] = [];
      await waitFor(async () => {
        const { text } = await app.admin('GET', '/metrics');
        busy = text
          .split('\n')
          .filter((line) => GAUGES.some((name) => line.split(/[ {]/)[0] === name) && !line.endsWith(' 0'));
        return busy.length === 0;
      }, GAUGES_MS).catch(() =>
        this.problems.push(`server ${i}: ${busy.join(', ')} when all clients are gone`),
      );
    }
  }

  /** Waits until no lease is out, no job is held and nothing is due soon. */
  private async calm(): Promise<void> {
    let restless: string[] = [];
    await sleep(SHORT_TTL_MS);
    await waitFor(async () => {
      restless = [];
      await this.tidy();
      for (const queue of QUEUES) {
        const { counts } = await this.facts(queue);
        for (const state of ['leased', 'held'] as const)
          if (counts[state] > 0) restless.push(`${counts[state]} ${state} in ${queue}`);
        for (const { id, due_at } of await this.list(queue, 'scheduled'))
          if (due_at && Date.parse(due_at) < Date.now() + NEAR_MS) restless.push(`${id} due at ${due_at}`);
      }
      return restless.length === 0;
    }, CALM_MS).catch(() => this.problems.push(`no end of the run: ${restless.join(', ')}`));
  }

  private async checkKeys(when: string): Promise<void> {
    let found: string[] = [];
    await waitFor(async () => {
      await this.tidy();
      const { namespace } = this.world;
      found = [
        ...(await Audit.of(this.redis, namespace)),
        ...(await auditIndexes(this.redis, namespace)),
        ...(await edgeProblems(this.redis, namespace)),
      ];
      return found.length === 0;
    }, 3_000).catch(() => undefined);
    for (const problem of found) this.report(`raw keys ${when}: ${problem}`);
  }

  /** Counts = lists, by either API; and no job is in two lists. */
  private async checkCounts(queue: string): Promise<void> {
    const { counts, length } = await this.facts(queue);
    const lists = await this.lists(queue);
    for (const state of STATES)
      for (const { id } of lists[state]) {
        const place = `${state} in ${queue}`;
        if (this.listed.has(id)) this.report(`${id}: ${place}, and ${this.listed.get(id)}`);
        this.listed.set(id, place);
      }
    const sizes: Readonly<Record<string, number>> = Object.fromEntries(
      STATES.map((state) => [state, lists[state].length]),
    );
    for (const [state, count] of Object.entries(counts))
      if (sizes[state] !== count) this.report(`${queue}: ${count} ${state}, ${sizes[state]} are listed`);
    if (length !== [...this.listed.values()].filter((place) => isLive(place, queue)).length)
      this.report(`${queue}: length ${length}`);
    const { size } = (await this.lmstfy('GET', `${queue}/size`)).json as { size: number };
    if (size !== counts.ready) this.report(`${queue}: lmstfy's size is ${size}, ${counts.ready} are ready`);
    const dead = (await this.lmstfy('GET', `${queue}/deadletter`)).json as { deadletter_size: number };
    if (dead.deadletter_size !== counts.dead)
      this.report(`${queue}: lmstfy's dead letter has ${dead.deadletter_size}`);
  }

  /** A job whose publish was accepted, and that nothing took away, is somewhere. */
  private checkLost(log: JobLog): void {
    for (const about of log.subjects()) {
      const last = log.of(about).findLast(({ isDone, effects }) => isDone && effects.publishes === true);
      if (last === undefined || this.listed.has(about) || this.world.reused.includes(about)) continue;
      const to = Number.POSITIVE_INFINITY;
      const mayBeGone =
        log.has('removes', about, null, last.sentMs, to) ||
        QUEUES.some((queue) => log.has('removes', about, queue, last.sentMs, to));
      if (!mayBeGone) this.report(`${about}: lost since ${last.text}`);
    }
  }

  /** All that is ready can be leased once, in the order of the list; and what waited for it then. */
  private async drain(what: string): Promise<number> {
    let total = 0;
    for (let round = 0, isOver = false; !isOver && round < 8; round++) {
      const leased: Leased[] = [];
      for (const queue of QUEUES) leased.push(...(await this.leaseAll(queue, `${what}, ${round}`)));
      // Not before: what waits for a job gets ready when it is done.
      await this.ackAll(leased, what);
      const ended = `{${this.world.namespace}}:ended`;
      await waitFor(async () => (await this.redis.exists(ended)) === 0).catch(() => undefined);
      total += leased.length;
      isOver = leased.length === 0;
    }
    return total;
  }

  private async leaseAll(queue: string, what: string): Promise<Leased[]> {
    const listed = await this.list(queue, 'ready');
    const priorities = listed.map(({ priority }) => priority);
    if (priorities.some((priority, i) => priority < (priorities[i - 1] ?? priority)))
      this.report(`${what}: ${queue} is listed with the priorities ${priorities.join()}`);
    // Listed behind the others of its priority, and leased in its old place (docs/api/lists.md).
    const movedBack = new Set<string>();
    for (const { id, priority } of listed) if (priority === 0 && (await this.isAside(id))) movedBack.add(id);
    for (const { id } of listed) await this.letRun(id);
    const leased: Leased[] = [];
    for (let isByNative = true, misses = 0; misses < 2 && leased.length < 10_000; isByNative = !isByNative) {
      const got = isByNative ? await this.lease(queue) : await this.consume(queue);
      misses = got.length === 0 ? misses + 1 : 0;
      leased.push(...got);
    }
    const [wanted, ids] = [listed.map(({ id }) => id), leased.map(({ id }) => id)];
    const isOrdered = (id: string): boolean => !movedBack.has(id);
    const isInOrder = ids.filter(isOrdered).join() === wanted.filter(isOrdered).join();
    if (!isInOrder || ids.toSorted().join() !== wanted.toSorted().join())
      this.report(`${what}: ${queue} has [${wanted.join()}], and leased are [${ids.join()}]`, [
        ...wanted,
        ...ids,
      ]);
    return leased;
  }

  /** True for a ready job that was given the priority 0 again by a change. */
  private async isAside(id: string): Promise<boolean> {
    return (await this.redis.hexists(this.fieldsOf(id), 'aside')) === 1;
  }

  /** A short `max_run_ms` would end the lease of the drain before its ack, and no call changes it. */
  private async letRun(id: string): Promise<void> {
    const key = this.fieldsOf(id);
    if ((await this.redis.hexists(key, 'run')) === 1) await this.redis.hset(key, 'run', FAR_MS);
  }

  private fieldsOf(id: string): Buffer {
    const encoded = encodeId(id);
    if (encoded === null) throw new Error(`${id} is no job id`);
    return Buffer.concat([Buffer.from(`{${this.world.namespace}}x`), encoded]);
  }

  private async ackAll(acks: readonly Leased[], what: string): Promise<void> {
    if (acks.length === 0) return;
    const items = acks.map((ack) => (ack.lease === undefined ? { ...ack, force: true } : ack));
    const { results } = (await this.v1('POST', 'acks', { acks: items })).json as {
      results: { id: string; status: string }[];
    };
    for (const { id, status } of results)
      if (status !== 'acked') this.report(`${what}: ${id} is ${status}`, [id]);
  }

  private async respawn(): Promise<void> {
    const deadBefore = await this.dead();
    let jobs = 0;
    for (let cursor: string | null | undefined; cursor !== null;) {
      const body = { filter: {}, ...(cursor === undefined ? {} : { cursor }) };
      const step = (await this.v1('POST', 'dead-letter/respawn', body)).json as {
        jobs: number;
        next_cursor: string | null;
      };
      jobs += step.jobs;
      cursor = step.next_cursor;
    }
    const deadAfter = await this.dead();
    if (deadBefore - jobs !== deadAfter)
      this.report(`${deadBefore} were dead, ${jobs} came back, ${deadAfter} are dead`);
    const drained = await this.drain('the dead');
    // What waited for them runs too.
    if (drained < jobs) this.report(`${jobs} came back from the dead letter, ${drained} were leased`);
  }

  private async dead(): Promise<number> {
    let sum = 0;
    for (const queue of QUEUES) sum += (await this.facts(queue)).counts.dead;
    return sum;
  }

  private async remove(): Promise<void> {
    for (const queue of QUEUES) {
      await waitFor(async () => {
        const { status, json } = await this.v1('POST', `queues/${queue}/purge`, { states: STATES });
        return status === 404 || (json as { complete: boolean }).complete;
      });
      const { counts } = await this.facts(queue);
      if (Object.values(counts).some((count) => count > 0))
        this.report(`${queue} has ${JSON.stringify(counts)} after a purge`);
      await this.forget(queue);
    }
  }

  private async forget(queue: string): Promise<void> {
    let text = '';
    await waitFor(async () => {
      const answer = await this.v1('DELETE', `queues/${queue}`);
      text = answer.text;
      return answer.status === 204 || answer.status === 404;
    }, 3_000).catch(() => this.report(`${queue} cannot be forgotten: ${text}`));
  }

  /** Each id is free again. */
  private async playAgain(): Promise<void> {
    const jobs = CHOSEN.map((id, i) => ({ queue: QUEUES[0], id, priority: (i * 7) % 5 }));
    for (const job of jobs) {
      const { status, text } = await this.v1('POST', 'jobs', job);
      if (status !== 201) this.report(`${job.id} cannot be published again: ${text}`, [job.id]);
    }
    await this.drain('a second run');
    await this.forget(QUEUES[0]!);
  }

  private async checkNothingLeft(): Promise<void> {
    const base = `{${this.world.namespace}}`;
    await this.v1('DELETE', 'settings/ttr_ms');
    const { json } = await this.v1('GET', 'workers');
    for (const { name } of (json as { items: { name: string }[] }).items)
      await this.v1('DELETE', `workers/${name}`);
    const traces = await this.v1('GET', 'tracked?limit=1000');
    for (const { id } of (traces.json as { gone: { id: string }[] }).gone)
      await this.v1('DELETE', `tracked/${id}`);
    let left: string[] = [];
    await waitFor(async () => {
      await this.tidy();
      left = [];
      for (const key of await this.redis.keysBuffer(`${base}*`)) {
        const name = key.toString('latin1').slice(base.length);
        // Each until a time of Redis's own.
        const mayStay = kindOf(name)?.outlivesJobs === true;
        if (!mayStay || (await this.redis.pttl(key)) < 0) left.push(JSON.stringify(name));
      }
      return left.length === 0;
    }, 5_000).catch(() => this.report(`left in Redis: ${left.join(', ')}`));
  }

  private async lists(queue: string): Promise<Lists> {
    const lists: Partial<Record<State, ListedJob[]>> = {};
    for (const state of STATES) lists[state] = await this.list(queue, state);
    return lists as Lists;
  }

  private async list(queue: string, state: State): Promise<ListedJob[]> {
    const items: ListedJob[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const more: string = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const { json } = await this.v1('GET', `jobs?queue=${queue}&state=${state}&limit=200${more}`);
      const page = json as { items: ListedJob[]; next_cursor: string | null };
      items.push(...page.items);
      cursor = page.next_cursor;
    }
    return items;
  }

  private async facts(queue: string): Promise<QueueFacts> {
    const { json } = await this.v1('GET', `queues/${queue}`);
    const { counts, length } = json as QueueFacts;
    // Those that count beside a state: `stuck`, `stalled`, `recurring`.
    const { ready, scheduled, blocked, held, leased, dead, done, cancelled } = counts;
    return { counts: { ready, scheduled, blocked, held, leased, dead, done, cancelled }, length };
  }

  private async lease(queue: string): Promise<Leased[]> {
    const { json } = await this.v1('POST', 'leases', { queues: [queue], count: 7, ttr_ms: 60_000 });
    return (json as { jobs: { id: string; lease: number }[] }).jobs.map(({ id, lease }) => ({
      queue,
      id,
      lease,
    }));
  }

  private async consume(queue: string): Promise<Leased[]> {
    const { status, json } = await this.lmstfy('GET', `${queue}?count=5&ttr=60`);
    return status === 404 ? [] : (json as { job_id: string }[]).map(({ job_id: id }) => ({ queue, id }));
  }

  private async tidy(): Promise<void> {
    await this.apps[0]!.engine.tidyNow(this.world.namespace);
  }

  private report(problem: string, suspects: readonly string[] = []): void {
    this.problems.push(problem);
    const named = [...CHOSEN, ...this.world.reused].filter((id) => problem.includes(`${id}:`));
    for (const id of [...suspects, ...named]) this.world.rules.suspect(id);
  }

  private v1(method: string, path: string, body?: object): Promise<Answer> {
    const options = { token: this.token, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    return this.apps[0]!.call(method, `/v1/${this.world.namespace}/${path}`, options);
  }

  private lmstfy(method: string, path: string): Promise<Answer> {
    return this.apps[0]!.call(method, `/api/${this.world.namespace}/${path}`, { token: this.token });
  }
}

function isLive(place: string, queue: string): boolean {
  const [state = '', , where] = place.split(' ');
  return where === queue && !['dead', 'done', 'cancelled'].includes(state);
}
