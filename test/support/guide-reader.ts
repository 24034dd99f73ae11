import type { Answer, TestApp } from './app.js';
import { filledIn, type GuideExchange, match, type Names } from './guide.js';
import type { AnswerCheck } from './openapi.js';
import { waitFor } from './redis.js';
import { EventClient } from './sse.js';

const PATIENCE_MS = 10_000;
/** Answers that are a second behind, as the page says. */
const IS_BEHIND = /\/stats(\?|$)/;

/** Does by hand what an example of the page shows, in a namespace of its own for the page's `demo`. */
export class GuideReader {
  private readonly names: Names = new Map();
  private stream: EventClient | undefined;
  private received = 0;

  constructor(
    private readonly app: TestApp,
    private readonly namespace: string,
    private readonly token: string,
    private readonly check: AnswerCheck,
  ) {}

  /** @returns what is not as it is shown */
  async follow(context: GuideExchange): Promise<string[]> {
    const wrong =
      context.headers['Accept'] === 'text/event-stream'
        ? await this.listen(context)
        : await this.send(context);
    if (wrong.length > 0) return wrong;
    for (const { place, data } of context.documented) wrong.push(...(await this.receive(place, data)));
    return wrong;
  }

  leave(): void {
    this.stream?.cut();
  }

  /** A call; one whose answer is behind is made again until it is as shown. */
  private async send(context: GuideExchange): Promise<string[]> {
    const end = Date.now() + PATIENCE_MS;
    for (;;) {
      const wrong = await this.request(context);
      if (wrong.length === 0 || !IS_BEHIND.test(context.path) || Date.now() > end) return wrong;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  private async request({
    method,
    isAdmin,
    path,
    headers,
    body,
    status,
    answer,
  }: GuideExchange): Promise<string[]> {
    const address = this.here(filledIn(path, this.names));
    const options = {
      token: isAdmin ? null : this.token,
      headers,
      ...(body === '' ? {} : { body: filledIn(body, this.names) }),
    };
    const got: Answer = await (isAdmin
      ? this.app.admin(method, address, options)
      : this.app.call(method, address, options));
    if (got.status !== status) return [`${path}: ${String(got.status)} ${got.text}`];
    const prefix = `/v1/${this.namespace}`;
    if (address.startsWith(`${prefix}/`))
      this.check(method, address.slice(prefix.length).split('?')[0]!, got);
    return answer === '' ? [] : this.differences(this.here(answer), got.json, path);
  }

  private async listen({ path, headers, status }: GuideExchange): Promise<string[]> {
    this.leave();
    const filled = Object.entries(headers).map(([name, value]) => [name, filledIn(value, this.names)]);
    const more = Object.fromEntries(filled) as Record<string, string>;
    this.stream = await EventClient.open(this.app.port, this.here(path), this.token, more);
    this.received = 0;
    const got = await this.stream.status();
    if (got !== status) return [`${path}: ${String(got)}`];
    await this.stream.begun();
    return [];
  }

  private async receive(place: string, data: string): Promise<string[]> {
    const { stream } = this;
    if (stream === undefined) throw new Error(`no stream is open to tell ${data}`);
    await waitFor(() => stream.events.length > this.received, PATIENCE_MS);
    const event = stream.events[this.received++];
    return this.differences(`{"place":"${place}","data":${data}}`, event, data);
  }

  /** What is called something stays so only if all is as it is shown. */
  private differences(shown: string, real: unknown, at: string): string[] {
    const names: Names = new Map(this.names);
    const wrong = match(JSON.parse(shown), real, names, at);
    if (wrong.length === 0) for (const [name, value] of names) this.names.set(name, value);
    return wrong.length === 0 ? [] : [...wrong, JSON.stringify(real)];
  }

  private here(text: string): string {
    return text
      .replace(/^(\/\w+)\/demo(?=[/?]|$)/, `$1/${this.namespace}`)
      .replaceAll('"namespace":"demo"', `"namespace":"${this.namespace}"`);
  }
}
