import type { Respawn } from '../../../src/domain/job-lists.js';
import type { SettingsChange } from '../../../src/domain/queue-settings.js';
import type { JobDetails } from '../../../src/domain/rich-job.js';
import type { JobState } from '../../../src/domain/states.js';
import type { JobChange } from '../../../src/engine/full/changing.js';
import { randomNamespace, testKeys } from '../../support/redis.js';
import { newJob, type EngineFixture } from '../fixture.js';
import { answerOf, cancelRefusal, type Told, toldOf } from './answers.js';
import { cancel } from './cancels.js';
import { change, isDueUnknown } from './changes.js';
import { isRinging, nextMs, tick } from './clock.js';
import { bury, respawn, type DeadWish } from './dead.js';
import { knownOf, seenOf } from './facts.js';
import { lease, type LeaseRequest } from './leases.js';
import { callHeld } from './limits.js';
import { acknowledge, say, type Answer, type Word } from './owners.js';
import { publish, type NewJob, type Reception } from './publishing.js';
import { control, counts, purge } from './queues.js';
import { type ModelQueue, Space } from './space.js';

export const QUEUES = ['a', 'b'] as const;
const ALL = ['ready', 'scheduled', 'leased', 'dead', 'blocked', 'held', 'done', 'cancelled'] as const;
/** Workers that nobody hears of are remembered for a day. */
const LONGER_THAN_ANYTHING_MS = 90_000_000;
/** Every so many steps one of the lists is looked at. */
const LIST_EACH = 4;
/** Ids that one call looks at. */
const AT_ONCE = 64;

/** The same steps on a real engine, in a namespace of its own, and on the model; each must answer and come to the same. */
export class Pair {
  readonly ns = randomNamespace('model');
  readonly space: Space;
  readonly leases: { readonly id: string; readonly lease: number }[] = [];
  /** Of all jobs that there ever were. */
  readonly ids: string[] = [];
  /** How much was done. */
  steps = 0;
  private seen = new Map<string, JobDetails>();
  private isSeen = false;

  constructor(readonly f: EngineFixture) {
    this.space = new Space(f.nowMs, (id) => this.seen.get(id)?.state ?? null);
  }

  /** Whoever is about to do something with it has to look again afterwards. */
  private get engine(): EngineFixture['engine'] {
    this.isSeen = false;
    return this.f.engine;
  }

  /** Both queues are full ones from the start; in one of them jobs of a key run one by one. */
  async open(): Promise<void> {
    await this.control('a', { maxRunningPerKey: 1 });
    await this.control('b', {});
  }

  async publish(jobs: readonly NewJob[]): Promise<void> {
    const wanted = jobs.map(({ body, ...job }) => ({ ...job, body: Buffer.from(body) }));
    const published = await answerOf(this.engine.full.publishing.publish(this.ns, wanted));
    const receptions = jobs.map((job, i): Reception => {
      const id = typeof published === 'string' ? `refused ${String(i)}` : (published[i]?.id ?? '');
      return publish(this.space, id, job, true);
    });
    if (typeof published === 'string') {
      expect(receptions).toContainEqual({ code: published });
    } else {
      expect(receptions).toEqual(published.map(({ id, existing }) => ({ holder: existing ? id : null })));
      this.ids.push(...published.filter(({ existing }) => !existing).map(({ id }) => id));
    }
    await this.settle();
    if (typeof published !== 'string')
      for (const { id, state, existing } of published)
        expect(state).toBe(this.space.jobs.get(id)?.state ?? (existing ? 'gone' : 'cancelled'));
  }

  async publishPlain({ queue, body, tries = 1, delayMs = 0, ttlMs = 0 }: NewJob): Promise<void> {
    const job = newJob({ body: Buffer.from(body), tries, delayMs, ttlMs });
    const id = await answerOf(this.engine.publish(this.ns, queue, job));
    const reception = publish(this.space, id, { queue, body, tries, delayMs, ttlMs }, false);
    expect('code' in reception ? reception.code : id).toBe(id);
    if (!('code' in reception)) this.ids.push(id);
    await this.settle();
  }

  async lease(request: LeaseRequest): Promise<void> {
    const jobs = await this.engine.reserve(this.ns, { ...request, waitMs: 0 });
    await this.look();
    lease(
      this.space,
      request,
      jobs.map(({ id }) => id),
    );
    for (const { id, lease: number, triesLeft, leaseEndsAtMs, queue, body } of jobs) {
      const known = this.space.get(id);
      expect({ lease: number, triesLeft, leaseEndsAtMs, queue, body: body.toString() }).toEqual({
        lease: known.lease,
        triesLeft: known.triesLeft,
        leaseEndsAtMs: known.atMs,
        queue: known.queue,
        body: known.body,
      });
      this.leases.push({ id, lease: number });
    }
    await this.settle();
  }

  async say(
    { id, lease: number }: { readonly id: string; readonly lease: number },
    word: Word,
  ): Promise<void> {
    const told = await this.tell(id, number, word);
    await this.look();
    expect(told).toEqual(this.expectedOf(say(this.space, id, number, word), id, word));
    await this.settle();
  }

  /** @returns the answer, with what it says of the job: its state, or when its lease ends, and when it is due */
  private async tell(id: string, number: number, word: Word): Promise<Told> {
    const { owners } = this.engine.full;
    const given = { id, lease: number, message: 'm' };
    switch (word.verb) {
      case 'ack': {
        const keep = word.keepMs === undefined ? {} : { retentionMs: word.keepMs };
        return { answer: (await owners.complete(this.ns, [{ ...given, ...keep }]))[0]! };
      }
      case 'move':
        return { answer: (await owners.complete(this.ns, [{ ...given, next: word.next }]))[0]! };
      case 'beat':
        return toldOf(owners.heartbeat(this.ns, given, word));
      case 'release':
        return toldOf(owners.release(this.ns, { ...given, delayMs: word.delayMs }));
      case 'retry':
        return toldOf(owners.retry(this.ns, { ...given, ...word }));
      case 'fail':
        return toldOf(owners.fail(this.ns, { ...given, group: word.group }));
    }
  }

  private expectedOf(answer: Answer, id: string, { verb }: Word): Told {
    const job = this.space.jobs.get(id);
    if (answer !== 'done' || !job || verb === 'ack' || verb === 'move') return { answer };
    if (verb === 'beat') return { answer, leaseEndsAtMs: job.atMs, cancelRequested: job.revokedAtMs > 0 };
    return { answer, state: job.state, dueAtMs: job.state === 'scheduled' ? job.atMs : null };
  }

  async acknowledge(queue: string, id: string): Promise<void> {
    expect(await this.engine.ack(this.ns, queue, id)).toBe(acknowledge(this.space, queue, id));
    await this.settle();
  }

  async change(id: string, wish: JobChange): Promise<void> {
    const answer = await answerOf(this.engine.full.changing.change(this.ns, id, wish));
    const isUnknown = isDueUnknown(this.space.get(id)) && wish.delayMs === undefined;
    const code = change(this.space, id, wish);
    expect(typeof answer === 'string' ? answer : null).toBe(code);
    const job = this.space.jobs.get(id);
    const dueAtMs = job?.state === 'scheduled' && !isUnknown ? job.atMs : null;
    if (typeof answer !== 'string') expect(answer).toEqual({ state: job?.state ?? null, dueAtMs });
    await this.settle();
  }

  async cancel(id: string, cascade: boolean, graceMs: number): Promise<void> {
    const answer = await this.engine.full.cancelling
      .cancel(this.ns, id, { cascade, graceMs })
      .then(({ outcome, ...rest }) => ({ code: outcome, ...rest }), cancelRefusal);
    const { dependents, ...known } = cancel(this.space, id, cascade, graceMs);
    expect(answer).toEqual({ ...known, ...(dependents && { dependents: [...dependents].sort() }) });
    await this.settle();
  }

  async control(queue: string, settings: SettingsChange): Promise<void> {
    await this.engine.full.controls.change(this.ns, queue, settings);
    const numbers = Object.entries(settings).map(([name, value]) => [
      name,
      typeof value === 'number' ? value : Infinity,
    ]);
    control(this.space, queue, Object.fromEntries(numbers) as Partial<ModelQueue>);
    await this.settle();
  }

  async order(queue: string, verb: 'pause' | 'resume' | 'drain'): Promise<void> {
    await this.engine.full.controls[verb](this.ns, queue);
    const settings = {
      pause: { isPaused: true },
      resume: { isPaused: false, isDraining: false },
      drain: { isDraining: true },
    };
    control(this.space, queue, settings[verb]);
    await this.settle();
  }

  async purge(queue: string, states: readonly JobState[]): Promise<void> {
    const { removed } = await this.engine.full.purging.purge(this.ns, queue, states);
    expect(removed).toEqual(purge(this.space, queue, states));
    await this.settle();
  }

  async respawn(wish: DeadWish, options: Respawn): Promise<void> {
    const { done } = await this.engine.full.dead.respawn(this.ns, wish, options);
    expect(done).toBe(respawn(this.space, wish, options));
    await this.settle();
  }

  async bury(wish: DeadWish): Promise<void> {
    const { done } = await this.engine.full.dead.delete(this.ns, wish);
    expect(done).toBe(bury(this.space, wish));
    await this.settle();
  }

  /** Time passes; the clock comes whenever something is due, and nobody else meanwhile. */
  async pass(ms: number): Promise<void> {
    const endMs = this.f.nowMs + ms;
    while (this.f.nowMs < endMs) {
      this.f.nowMs = this.space.nowMs = Math.min(nextMs(this.space), endMs);
      await this.ring();
    }
    await this.compare();
  }

  /** All jobs are removed and all timers ring. @returns keys that are left, and belong to nobody */
  async clear(): Promise<string[]> {
    for (const queue of QUEUES) await this.purge(queue, ALL);
    expect([...this.space.jobs.keys()]).toEqual([]);
    this.f.nowMs = this.space.nowMs += LONGER_THAN_ANYTHING_MS;
    await this.engine.pumpNow(this.ns);
    for (const queue of await this.engine.queues(this.ns))
      await this.engine.full.controls.forget(this.ns, queue);
    // The string of a unique key that is held for a while has a TTL of Redis's own.
    const isHeld = (key: string): boolean => key.startsWith(`{${this.ns}}o`);
    return (await testKeys(`{${this.ns}}*`)).filter((key) => !key.endsWith(':meta') && !isHeld(key));
  }

  private async ring(): Promise<void> {
    await this.engine.pumpNow(this.ns);
    const isStale = [...this.space.jobs.values()].some(
      ({ isRich, state, expiresMs }) =>
        !isRich && state === 'ready' && expiresMs > 0 && expiresMs <= this.space.nowMs,
    );
    // Nobody comes for a plain job that expires in its line; whoever meets it removes it.
    if (isStale) await this.engine.tidyNow(this.ns);
    await this.look();
    tick(this.space);
  }

  /** What callers have set going comes to its end. */
  private async settle(): Promise<void> {
    await this.look();
    callHeld(this.space);
    while (isRinging(this.space)) await this.ring();
    await this.compare();
  }

  private async look(): Promise<void> {
    if (this.isSeen) return;
    const ids = this.ids.filter((id) => this.space.jobs.has(id) || this.seen.has(id));
    this.seen = new Map();
    for (let i = 0; i < ids.length; i += AT_ONCE)
      for (const job of await this.f.engine.full.looking.findMany(this.ns, ids.slice(i, i + AT_ONCE)))
        if (job) this.seen.set(job.id, job);
    this.isSeen = true;
  }

  private async compare(): Promise<void> {
    await this.look();
    expect([...this.seen.values()].map(seenOf)).toEqual(
      this.ids.filter((id) => this.space.jobs.has(id)).map((id) => knownOf(this.space, id)),
    );
    const found = await this.f.engine.counts(this.ns, QUEUES);
    for (const { queue, ...sizes } of found) expect(sizes).toMatchObject(counts(this.space, queue));
    if (this.steps % LIST_EACH === 0) await this.compareList();
  }

  /** One list after the other, as the steps go by. */
  private async compareList(): Promise<void> {
    const at = this.steps / LIST_EACH;
    const [queue, state] = [QUEUES[at % 2] ?? 'a', ALL[(at >> 1) % ALL.length] ?? 'ready'];
    const { items, cursor } = await this.f.engine.full.lists.list(
      this.ns,
      { queue, state },
      { limit: AT_ONCE },
    );
    expect(cursor).toBeNull();
    expect(items.map(({ id }) => id).sort()).toEqual(
      this.space
        .in(queue, state)
        .map(({ id }) => id)
        .sort(),
    );
  }
}
