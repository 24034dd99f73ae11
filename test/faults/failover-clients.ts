import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import type { Journal } from './journal.js';

export interface FailoverClientsOptions {
  /** Base addresses of servers over the same store; a client goes on to the next one when its own fails. */
  readonly urls: readonly string[];
  readonly namespace: string;
  readonly token: string;
  readonly producers: number;
  /** Those who begin at once. */
  readonly consumers: number;
  /** Numbers in [0, 1). */
  readonly random: () => number;
}

interface Answer {
  readonly status: number;
  readonly json: Record<string, unknown>;
  readonly jobId: string | undefined;
}

const TTR_S = 3;
/** Failovers take leases and acknowledgements with them: nothing shall die of that. */
const TRIES = 100;

/**
 * Clients of a store whose masters fail over. A producer that gets an error with ids sends its job again under them.
 * Each client records when it was last answered, so that a client that hangs is noticed.
 */
export class FailoverClients {
  /** When each client was last answered with less than 500, on the clock of `performance.now`. */
  readonly answeredMs = new Map<string, number>();
  private readonly agent = new Agent({ connections: 64, headersTimeout: 30_000, connectTimeout: 2_000 });
  private isProducing = true;
  private isOver = false;
  private made = 0;
  private producing: Promise<unknown> = Promise.resolve();
  private consuming: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly options: FailoverClientsOptions,
    private readonly journal: Journal,
  ) {}

  start(): void {
    const { producers, consumers } = this.options;
    this.producing = Promise.all(Array.from({ length: producers }, (_, i) => this.produce(i)));
    if (consumers > 0) this.work(consumers);
  }

  /** Consumers begin. */
  work(consumers: number): void {
    this.consuming = Promise.all(Array.from({ length: consumers }, (_, i) => this.consume(i)));
  }

  /** Each producer brings the job that it has under way, and no other. */
  async endProduction(): Promise<void> {
    this.isProducing = false;
    await this.producing;
  }

  async end(): Promise<void> {
    this.isProducing = false;
    this.isOver = true;
    await Promise.all([this.producing, this.consuming]);
    await this.agent.destroy();
  }

  /** The client that has been waiting for an answer for longest: since when. */
  longestSilenceMs(): number {
    return performance.now() - Math.min(...this.answeredMs.values());
  }

  /** Makes one call; undefined without an answer, or with 5xx. If it was rejected with ids, they are in `jobId`. */
  async request(
    who: string,
    at: number,
    method: 'GET' | 'PUT' | 'DELETE',
    path: string,
    body?: string,
    headers: Record<string, string> = {},
  ): Promise<Answer | undefined> {
    const { urls, namespace, token, random } = this.options;
    if (!this.answeredMs.has(who)) this.answeredMs.set(who, performance.now());
    try {
      const answer = await request(`${urls[at % urls.length] ?? ''}/api/${namespace}/${path}`, {
        method,
        dispatcher: this.agent,
        headers: { 'x-token': token, ...headers },
        ...(body === undefined ? {} : { body }),
      });
      const text = await answer.body.text();
      const json = text === '' ? {} : (JSON.parse(text) as Answer['json']);
      const jobId = answer.headers['x-job-id'];
      if (answer.statusCode < 500) this.answeredMs.set(who, performance.now());
      else {
        this.journal.add({ op: 'failed', what: `${method} ${String(answer.statusCode)} ${text}` });
        await sleep(25 + random() * 50);
      }
      return { status: answer.statusCode, json, jobId: typeof jobId === 'string' ? jobId : undefined };
    } catch (error) {
      this.journal.add({ op: 'failed', what: `${method} ${error instanceof Error ? error.message : ''}` });
      await sleep(25 + random() * 50);
      return undefined;
    }
  }

  private goesOn(): boolean {
    return !this.isOver;
  }

  private async produce(client: number): Promise<void> {
    for (let i = client; this.isProducing && this.goesOn();) {
      const body = `job ${String(this.made++)}`;
      let headers: Record<string, string> = {};
      for (let answer: Answer | undefined; answer?.status !== 201 && this.goesOn();) {
        this.journal.add({ op: 'publish', body });
        answer = await this.request(
          `producer ${String(client)}`,
          i++,
          'PUT',
          `orders?ttl=0&tries=${String(TRIES)}`,
          body,
          headers,
        );
        if (answer?.status === 201)
          this.journal.add({ op: 'accepted', body, id: String(answer.json['job_id']) });
        else if (answer?.jobId !== undefined) headers = { 'X-Job-ID': answer.jobId };
      }
      await sleep(10 * (0.5 + this.options.random()));
    }
  }

  private async consume(client: number): Promise<void> {
    const who = `consumer ${String(client)}`;
    for (let i = client; this.goesOn();) {
      const sentMs = performance.now();
      const answer = await this.request(who, i++, 'GET', `orders?timeout=3&ttr=${String(TTR_S)}`);
      if (answer?.status !== 200) continue;
      const { job_id, data, remain_tries } = answer.json;
      const id = String(job_id);
      const body = Buffer.from(String(data), 'base64').toString();
      this.journal.add({ op: 'delivered', id, body, sentMs, triesLeft: Number(remain_tries) });
      while (this.goesOn()) {
        const done = await this.request(who, i++, 'DELETE', `orders/job/${id}`);
        if (done?.status !== 204) continue;
        this.journal.add({ op: 'acked', id });
        break;
      }
    }
  }
}
