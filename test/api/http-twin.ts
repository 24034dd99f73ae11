import type { Redis } from 'ioredis';
import { Audit } from '../engine/audit.js';
import { QueueModel, type ModelLease } from '../engine/model.js';
import type { Answer, TestApp } from '../support/app.js';

export const QUEUES = ['a', 'b', 'c'];

/** What a publish says of its jobs, in lmstfy's units. */
export interface Published {
  readonly delayS: number;
  readonly ttlS: number;
  readonly tries: number;
  readonly color?: string;
}

/** What a consumer asks for. */
export interface PublishCall {
  readonly queues: readonly string[];
  readonly count: number;
  readonly ttrS: number;
}

type Lease = Pick<ModelLease, 'id' | 'lease' | 'queue'>;

/**
 * The queues of one token, as clients of both APIs see them, and the model of them. Every call goes to the server and
 * to the model, and the answers must be equal. Time moves only with `advance`; after it due jobs have moved and expired
 * ones are gone.
 */
export class HttpTwin {
  /** Ids and leases seen so far, for calls to choose from. */
  readonly ids: string[] = ['never-seen'];
  readonly leases: Lease[] = [];
  private readonly model: QueueModel;
  private count = 0;

  constructor(
    private readonly app: TestApp,
    private readonly clock: { nowMs: number },
    private readonly redis: Redis,
  ) {
    this.model = new QueueModel(clock.nowMs);
  }

  async publish(queue: string, call: Published, replaces?: string): Promise<void> {
    const body = `job ${this.count++}`;
    const path = replaces === undefined ? queue : `${queue}/job/${replaces}`;
    const answer = await this.put(path, body, call);
    if (isRefused(call)) expect(answer.status).toBe(400);
    else this.store(queue, body, call, idsOf(answer), replaces);
  }

  async publishMany(queue: string, size: number, call: Published): Promise<void> {
    const bodies = Array.from({ length: size }, () => String(this.count++));
    const answer = await this.put(`${queue}/bulk`, `[${bodies.join()}]`, call);
    if (isRefused(call)) expect(answer.status).toBe(400);
    else {
      const ids = idsOf(answer);
      expect(ids).toHaveLength(size);
      for (const [i, body] of bodies.entries()) this.store(queue, body, call, [ids[i]!]);
    }
  }

  /** By lmstfy's call: what its body tells of a lease. */
  async consume({ queues, count, ttrS }: PublishCall): Promise<void> {
    const { status, json } = await this.app.get(`${queues.join()}?ttr=${ttrS}&count=${count}`);
    const jobs = (status === 404 ? [] : [json].flat()) as Record<string, unknown>[];
    const expected = this.model.lease({ queues: [...queues], count, ttrMs: ttrS * 1_000 });
    expect(jobs).toMatchObject(
      expected.map(({ id, queue, body, attributes, triesLeft, ttlLeftMs }) => ({
        ...{ job_id: id, queue, attributes, remain_tries: triesLeft, msg: 'new job' },
        data: Buffer.from(body).toString('base64'),
        ttl: ttlLeftMs === 0 ? 0 : Math.max(1, Math.round(ttlLeftMs / 1_000)),
      })),
    );
    await this.taken(expected, ttrS);
  }

  /** By the native API's, which tells the number of the lease, and when it ends. */
  async lease({ queues, count, ttrS }: PublishCall): Promise<void> {
    const ttrMs = Math.max(ttrS * 1_000, 1);
    const { status, json } = await this.native('leases', { queues, count, ttr_ms: ttrMs });
    expect(status).toBe(200);
    const expected = this.model.lease({ queues: [...queues], count, ttrMs });
    expect((json as { jobs: unknown }).jobs).toMatchObject(
      expected.map(({ id, queue, attributes, triesLeft, attempts, lease, leaseEndsAtMs }) => ({
        ...{ id, queue, attributes, tries_left: triesLeft, attempts, lease, state: 'leased' },
        lease_ends_at: new Date(leaseEndsAtMs).toISOString(),
      })),
    );
    await this.taken(expected, ttrS);
  }

  /** By lmstfy's call, which says nothing of a lease and is always done. */
  async ack(queue: string, id: string): Promise<void> {
    expect(await this.app.delete(`${queue}/job/${id}`)).toMatchObject({ status: 204 });
    this.model.ack(queue, id, 0);
  }

  /** By the native API's. @param leases one that is 0 is left out: the ack is forced */
  async ackMany(leases: readonly Lease[]): Promise<void> {
    const acks = leases.map(({ queue, id, lease }) => ({
      queue,
      id,
      ...(lease > 0 ? { lease } : { force: true }),
    }));
    const { status, json } = await this.native('acks', { acks });
    expect(status).toBe(200);
    const results = leases.map(({ queue, id, lease }) => {
      const gone = this.model.ack(queue, id, lease);
      return { id, status: gone === 'lease_lost' ? gone : gone ? 'acked' : 'not_found' };
    });
    expect(json).toMatchObject({ results });
  }

  /** The operation of the lease holder, in any state of the job. */
  async complete({ queue, id, lease }: Lease): Promise<void> {
    const { status } = await this.native(`jobs/${id}/ack`, { lease });
    const gone = this.model.ack(queue, id, lease);
    expect(status).toBe(gone === 'lease_lost' ? 409 : gone ? 200 : 404);
  }

  async respawn(queue: string, limit: number, ttlS: number): Promise<void> {
    const answer = await this.app.call('PUT', `${queue}/deadletter?limit=${limit}&ttl=${ttlS}`);
    expect(answer).toMatchObject({
      status: 200,
      json: { msg: 'respawned', count: this.model.respawn(queue, limit, ttlS * 1_000) },
    });
  }

  async deleteDead(queue: string, limit: number): Promise<void> {
    const answer = await this.app.delete(`${queue}/deadletter?limit=${limit}`);
    expect(answer).toMatchObject({ status: 204 });
    this.model.deleteDead(queue, limit);
  }

  async destroy(queue: string): Promise<void> {
    expect(await this.app.delete(queue)).toMatchObject({ status: 204 });
    this.model.destroy(queue);
  }

  /** What comes due by then has moved when this is over, and what has expired is gone. */
  async advance(ms: number): Promise<void> {
    // All answers were read; the server says so a moment later, by its own clock, and until then a lease that runs out costs no try.
    await this.redis.del(`{${this.app.namespace}}:sending`);
    this.clock.nowMs += ms;
    this.model.nowMs = this.clock.nowMs;
    await this.app.engine.pumpNow(this.app.namespace);
    await this.app.engine.tidyNow(this.app.namespace);
    this.model.pump();
    this.model.tidy();
  }

  /** Everything that can be asked about, and every raw key. */
  async compare(): Promise<void> {
    for (const queue of QUEUES) {
      const { ready } = this.model.counts(queue);
      expect(await this.app.get(`${queue}/size`)).toMatchObject({ status: 200, json: { size: ready } });
      const { id, size } = this.model.deadHead(queue);
      expect(await this.app.get(`${queue}/deadletter`)).toMatchObject({
        json: { deadletter_head: id ?? '', deadletter_size: size },
      });
      await this.expectJob(`${queue}/peek`, this.model.peekQueue(queue)?.id);
    }
    for (const { id, queue } of this.model.all().slice(-4)) await this.expectJob(`${queue}/job/${id}`, id);
    expect(await Audit.of(this.redis, this.app.namespace)).toEqual([]);
  }

  /** Leaves nothing behind: the next sequence begins in an empty namespace. */
  async clear(): Promise<void> {
    const keys = await this.redis.keysBuffer(`{${this.app.namespace}}*`);
    if (keys.length > 0) await this.redis.del(...keys);
  }

  /** @param id undefined: nothing is there */
  private async expectJob(path: string, id: string | undefined): Promise<void> {
    const { status, json, headers } = await this.app.get(path);
    const job = this.model.all().find((one) => one.id === id);
    expect(status).toBe(job ? 200 : 404);
    if (!job) return;
    expect(json).toMatchObject({ job_id: job.id, remain_tries: job.tries });
    if (path.includes('/job/'))
      expect(headers).toMatchObject({ 'x-job-state': job.state, 'x-job-attempts': String(job.attempts) });
  }

  /** Remembers the leases. A TTR of 0 is 1 ms in the native API; then they end at once. */
  private async taken(leases: readonly Lease[], ttrS: number): Promise<void> {
    this.leases.push(...leases);
    if (ttrS === 0) await this.advance(1);
  }

  private put(path: string, body: string, { delayS, ttlS, tries, color }: Published): Promise<Answer> {
    const query = `delay=${delayS}&ttl=${ttlS}&tries=${tries}`;
    const headers = color === undefined ? {} : { 'enable-job-version': 'YES', 'job-attr-color': color };
    return this.app.put(`${path}?${query}`, body, { headers });
  }

  private native(path: string, body: object): Promise<Answer> {
    return this.app.call('POST', `/v1/${this.app.namespace}/${path}`, { body: JSON.stringify(body) });
  }

  private store(
    queue: string,
    body: string,
    { delayS, ttlS, tries, color }: Published,
    [id = '']: readonly string[],
    replaces?: string,
  ): void {
    const attributes = color === undefined ? {} : { attributes: { color } };
    const job = {
      body: Buffer.from(body),
      delayMs: delayS * 1_000,
      ttlMs: ttlS * 1_000,
      tries,
      ...attributes,
    };
    expect(this.model.publish(queue, id, job, replaces)).toBe(true);
    this.ids.push(id);
  }
}

/** lmstfy refuses a job that would expire before it is due. */
function isRefused({ delayS, ttlS }: Published): boolean {
  return ttlS > 0 && ttlS < delayS;
}

function idsOf({ status, json, text }: Answer): string[] {
  if (status !== 201) throw new Error(`${status} ${text}`);
  const { job_id, job_ids } = json as { job_id?: string; job_ids?: string[] };
  return job_ids ?? [job_id!];
}
