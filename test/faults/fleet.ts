import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import type { Journal } from './journal.js';

export interface FleetOptions {
  /** Base addresses of servers over the same Redis; a client goes on to the next one when its own fails. */
  readonly urls: readonly string[];
  readonly namespace: string;
  readonly token: string;
  readonly producers: number;
  readonly consumers: number;
  /** Jobs to publish in all. */
  readonly jobs: number;
  /** Numbers in [0, 1). */
  readonly random: () => number;
  /** Pause of a producer between two jobs, in ms. */
  readonly pauseMs: number;
  readonly ttrS: number;
  readonly tries: number;
  /** Jobs are delayed by 0 to so many seconds. */
  readonly maxDelayS: number;
}

/** Producers and consumers as lmstfy's clients are: they keep connections, wait by long polls, and send again what failed. */
export class Fleet {
  private readonly agent = new Agent({ connections: 64, headersTimeout: 15_000, connectTimeout: 2_000 });
  private isProducing = true;
  private isOver = false;
  private published = 0;
  private producing: Promise<unknown> = Promise.resolve();
  private consuming: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly options: FleetOptions,
    private readonly journal: Journal,
  ) {}

  start(): void {
    const { producers, consumers } = this.options;
    this.producing = Promise.all(Array.from({ length: producers }, (_, i) => this.produce(i)));
    this.consuming = Promise.all(Array.from({ length: consumers }, (_, i) => this.consume(i)));
  }

  /** Resolves when every job has been accepted. */
  async accepted(): Promise<void> {
    await this.producing;
  }

  /** Lets each producer bring the job that it has under way, and no other. Resolves when they are all accepted. */
  async endProduction(): Promise<void> {
    this.isProducing = false;
    await this.producing;
  }

  /** Sends the consumers home, after the acknowledgement that each has under way. */
  async end(): Promise<void> {
    this.isOver = true;
    await Promise.all([this.producing, this.consuming]);
    await this.agent.destroy();
  }

  private goesOn(): boolean {
    return !this.isOver;
  }

  private async produce(client: number): Promise<void> {
    const { jobs, ttrS, tries, pauseMs, maxDelayS, random } = this.options;
    for (let i = client; this.published < jobs && this.isProducing && this.goesOn();) {
      const body = `job ${this.published++}`;
      const delayS = Math.floor(random() * (maxDelayS + 1));
      const path = `/orders?delay=${delayS}&ttl=0&tries=${tries}&ttr=${ttrS}`;
      let answer: Answer | undefined;
      while (answer?.status !== 201 && this.goesOn()) {
        this.journal.add({ op: 'publish', body, delayMs: delayS * 1_000 });
        answer = await this.request(i++, 'PUT', path, body);
      }
      if (answer?.status === 201)
        this.journal.add({ op: 'accepted', body, id: String(answer.json['job_id']) });
      await sleep(pauseMs * (0.5 + random()));
    }
  }

  private async consume(client: number): Promise<void> {
    for (let i = client; this.goesOn();) {
      const sentMs = performance.now();
      const answer = await this.request(i++, 'GET', `/orders?timeout=2&ttr=${this.options.ttrS}`);
      if (answer?.status !== 200) continue;
      const { job_id, data, remain_tries } = answer.json;
      const id = String(job_id);
      const body = Buffer.from(String(data), 'base64').toString();
      this.journal.add({ op: 'delivered', id, body, sentMs, triesLeft: Number(remain_tries) });
      await this.acknowledge(i, id);
    }
  }

  /** Until it is answered: a worker that has done the work does not want it done again. Sent home, it gives up after a while. */
  private async acknowledge(client: number, id: string): Promise<void> {
    for (let i = client, patience = 40; patience > 0; i++) {
      if (!this.goesOn()) patience--;
      const answer = await this.request(i, 'DELETE', `/orders/job/${id}`);
      if (answer?.status !== 204) continue;
      this.journal.add({ op: 'acked', id });
      return;
    }
  }

  /** Undefined if there is no answer, or one with 5xx: both mean "try again". */
  private async request(
    client: number,
    method: 'GET' | 'PUT' | 'DELETE',
    path: string,
    body?: string,
  ): Promise<Answer | undefined> {
    const { urls, namespace, token } = this.options;
    try {
      const answer = await request(`${urls[client % urls.length]}/api/${namespace}${path}`, {
        method,
        dispatcher: this.agent,
        headers: { 'x-token': token },
        ...(body === undefined ? {} : { body }),
      });
      const text = await answer.body.text();
      if (answer.statusCode >= 500) throw new Error(`answered with ${answer.statusCode}`);
      const json = text === '' ? {} : (JSON.parse(text) as Answer['json']);
      return { status: answer.statusCode, json };
    } catch (error) {
      this.journal.add({ op: 'failed', what: `${method} ${error instanceof Error ? error.message : ''}` });
      await sleep(25 + this.options.random() * 50);
      return undefined;
    }
  }
}

interface Answer {
  readonly status: number;
  readonly json: Record<string, unknown>;
}
