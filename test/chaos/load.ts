import { setTimeout as sleep } from 'node:timers/promises';

/** What the clients of a server under fault have seen, to be compared when all is over. */
export class Ledger {
  /** Job ids by body, of those whose publish was answered with 201: from then on the server answers for them. */
  readonly accepted = new Map<string, string>();
  readonly delivered = new Map<string, number>();
  /** When the ack of a body was answered with 204, in ms of `performance.now()`. */
  readonly acked = new Map<string, number>();
  /** Bodies that were asked for after their ack had been answered, and came all the same. */
  readonly deliveredAfterAck: string[] = [];
  /** Requests that failed, or were answered with 5xx: the faults were felt. */
  failures = 0;

  /** Accepted jobs that no consumer has ever got. */
  lost(): string[] {
    return [...this.accepted.keys()].filter((body) => !this.delivered.has(body));
  }
}

/** Producers and consumers on one queue that go on through every failure, as workers do. */
export class Load {
  private readonly stopProducing = new AbortController();
  private readonly stopConsuming = new AbortController();
  private readonly running: Promise<void>[] = [];
  private count = 0;

  constructor(
    private readonly queueUrl: string,
    private readonly token: string,
    readonly ledger = new Ledger(),
  ) {}

  start({ producers, consumers }: { producers: number; consumers: number }): void {
    for (let i = 0; i < producers; i++) {
      this.running.push(this.repeat(this.stopProducing.signal, () => this.publish()));
    }
    for (let i = 0; i < consumers; i++) {
      this.running.push(this.repeat(this.stopConsuming.signal, () => this.work()));
    }
  }

  endProduction(): void {
    this.stopProducing.abort();
  }

  async end(): Promise<void> {
    this.stopProducing.abort();
    this.stopConsuming.abort();
    await Promise.all(this.running);
  }

  /** What the server says of a job that did not come: a clue for whoever reads the failure. */
  async traceOf(body: string): Promise<string> {
    const id = this.ledger.accepted.get(body) ?? '';
    const answer = await this.ask('GET', `/job/${id}`);
    return `${body} ${id}: ${answer.status} ${await answer.text()}`;
  }

  private async publish(): Promise<void> {
    const body = `job ${this.count++}`;
    const answer = await this.ask('PUT', '?ttl=0&tries=1000', body); // tries enough for every kill
    const { job_id: id } = (await answer.json()) as { job_id: string };
    if (answer.status === 201) this.ledger.accepted.set(body, id);
    await sleep(2);
  }

  private async work(): Promise<void> {
    const askedMs = performance.now();
    // A lease of 2 s comes back soon when the answer was lost with the server.
    const answer = await this.ask('GET', '?timeout=1&ttr=2');
    if (answer.status !== 200) {
      await answer.arrayBuffer();
      return;
    }
    const job = (await answer.json()) as { job_id: string; data: string };
    const body = Buffer.from(job.data, 'base64').toString();
    this.ledger.delivered.set(body, (this.ledger.delivered.get(body) ?? 0) + 1);
    if ((this.ledger.acked.get(body) ?? Infinity) < askedMs) this.ledger.deliveredAfterAck.push(body);
    const ack = await this.ask('DELETE', `/job/${job.job_id}`);
    await ack.arrayBuffer();
    if (ack.status === 204) this.ledger.acked.set(body, performance.now());
  }

  private async ask(method: string, path: string, body?: string): Promise<Response> {
    const answer = await fetch(`${this.queueUrl}${path}`, {
      method,
      headers: { 'X-Token': this.token },
      signal: AbortSignal.timeout(10_000),
      ...(body === undefined ? {} : { body }),
    });
    if (answer.status >= 500) {
      await answer.arrayBuffer();
      throw new Error(`answered with ${answer.status}`);
    }
    return answer;
  }

  private async repeat(signal: AbortSignal, act: () => Promise<void>): Promise<void> {
    while (!signal.aborted) {
      try {
        await act();
      } catch {
        this.ledger.failures += 1;
        await sleep(50);
      }
    }
  }
}
