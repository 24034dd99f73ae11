import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { randomFrom } from '../support/random.js';
import { SEED } from '../support/scale.js';

const TTR_MS = 1_500;
const CALL_MS = 5_000;
/** One lease of so many is forgotten: its worker has crashed. */
const CRASHES = 12;
const PRODUCERS = 2;
const WORKERS = 6;

/** One of each kind that the store keeps differently. */
const KINDS: readonly Readonly<Record<string, unknown>>[] = [
  {},
  { delay_ms: 300 },
  { attributes: { a: 'b' }, ttl_ms: 3_600_000 },
  { type: 'mail', tags: ['t'] },
  { priority: 3, type: 'mail' },
  { concurrency_key: 'k', retention_ms: 1_000 },
  { retry: { kind: 'fixed', delay_ms: 100 } },
];

interface Leased {
  readonly id: string;
  readonly lease: number;
}

/**
 * Producers and workers of the native API that know several servers and ask the next one when one does not answer. Each
 * job is sent until it is accepted, under one idempotency key.
 */
export class MixedFleet {
  /** Ids of the accepted jobs → how often an ack of the job was accepted. */
  readonly acks = new Map<string, number>();
  /** Answers that no fault explains. */
  readonly surprises: string[] = [];
  crashes = 0;
  /** What workers lease, in turn: these types, null = jobs without one; undefined: any job. */
  types: readonly (readonly (string | null)[] | undefined)[] = [undefined];
  private readonly random = randomFrom(SEED);
  private isProducing = true;
  private isWorking = true;
  private readonly clients: Promise<void>[] = [];

  constructor(
    private readonly urls: readonly string[],
    private readonly token: string,
    private readonly namespace: string,
  ) {}

  get done(): number {
    return [...this.acks.values()].filter((times) => times > 0).length;
  }

  start(): void {
    for (let i = 0; i < PRODUCERS; i++) this.clients.push(this.produce(i));
    for (let i = 0; i < WORKERS; i++) this.clients.push(this.work(i));
  }

  /** Ends the producers, waits until each job is done or the time is over, and ends the workers. */
  async finish(withinMs: number): Promise<void> {
    this.isProducing = false;
    const endMs = Date.now() + withinMs;
    while (this.done < this.acks.size && Date.now() < endMs) await sleep(50);
    this.isWorking = false;
    await Promise.all(this.clients);
  }

  private async produce(place: number): Promise<void> {
    for (let n = place; this.isProducing; n++) {
      const body = { queue: n % 2 === 0 ? 'a' : 'b', data: n, tries: 500, ...KINDS[n % KINDS.length] };
      const key = randomUUID();
      for (let tries = 0; ; tries++) {
        const answer = await this.send(tries + place, 'jobs', body, { 'idempotency-key': key });
        if (answer?.status === 201) {
          const { id } = answer.json as { id: string };
          // A worker may have had it before this answer came.
          this.acks.set(id, this.acks.get(id) ?? 0);
          break;
        }
        this.judge('publish', answer);
        await sleep(20);
      }
      await sleep(15);
    }
  }

  private async work(place: number): Promise<void> {
    for (let n = place; this.isWorking; n++) {
      const body = {
        queues: ['a', 'b'],
        count: 2,
        wait_ms: 200,
        ttr_ms: TTR_MS,
        worker: `w${String(place)}`,
        types: this.types[place % this.types.length],
      };
      const answer = await this.send(n, 'leases', body);
      if (answer?.status !== 200) {
        this.judge('lease', answer);
        await sleep(20);
        continue;
      }
      for (const job of (answer.json as { jobs: Leased[] }).jobs) await this.handle(job, n);
    }
  }

  private async handle({ id, lease }: Leased, n: number): Promise<void> {
    if (this.random() < 1 / CRASHES) {
      this.crashes++;
      return;
    }
    await sleep(this.random() * 30);
    for (let tries = 0; tries < 20; tries++) {
      const answer = await this.send(n + tries, `jobs/${id}/ack`, { lease });
      if (answer?.status === 200) this.acks.set(id, (this.acks.get(id) ?? 0) + 1);
      // It was acknowledged by an earlier attempt whose answer was lost.
      if (answer?.status === 404 && tries > 0) this.acks.set(id, Math.max(this.acks.get(id) ?? 0, 1));
      if (answer && [200, 404, 409].includes(answer.status)) return;
      this.judge('ack', answer);
      await sleep(20);
    }
  }

  /** Refusals of a server that ends or waits for Redis are no surprise. */
  private judge(what: string, answer: { readonly status: number; readonly text: string } | null): void {
    if (answer && answer.status !== 503)
      this.surprises.push(`${what}: ${String(answer.status)} ${answer.text}`);
  }

  private async send(
    turn: number,
    path: string,
    body: object,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<{ readonly status: number; readonly text: string; readonly json: unknown } | null> {
    const url = `${this.urls[turn % this.urls.length] ?? ''}/v1/${this.namespace}/${path}`;
    try {
      const answer = await fetch(url, {
        method: 'POST',
        headers: { 'x-token': this.token, 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(CALL_MS),
      });
      const text = await answer.text();
      return { status: answer.status, text, json: text === '' ? null : (JSON.parse(text) as unknown) };
    } catch {
      return null;
    }
  }
}
