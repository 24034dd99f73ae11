/** Plays test/clients/scenarios.json: `player.ts URL NAMESPACE TOKEN`. Reads commands from stdin, prints answers and events. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  Fail,
  type HandlerContext,
  type Job,
  type NewJob,
  Next,
  type PublishOptions,
  Pumphouse,
  PumphouseError,
  Release,
  Retry,
  verify,
  WebhookError,
  type Worker,
} from '../src/node.js';
import { fromWire } from '../src/wire.js';

const [url = '', namespace = '', token = ''] = process.argv.slice(2);
const client = new Pumphouse({ url, namespace, token });
const print = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);
const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
const workers: Worker[] = [];
const store = new AsyncLocalStorage<string>();

interface Command {
  readonly id: number;
  readonly do: string;
  readonly with: Record<string, never>;
}
type WireJob = Readonly<Record<string, unknown>> & { readonly bytes?: string };
/** Options of a publish. */
interface Keyed {
  readonly key?: string;
  readonly key_ttl_ms?: number;
  readonly durability?: string;
}
interface Behaviour {
  readonly progress?: unknown;
  /** Returns id, state and result of each of its dependencies, and whether the result is left out. */
  readonly returns_dependencies?: boolean;
  readonly wait_ms?: number;
  readonly ignore_ms?: number;
  readonly raises?: 'retry' | 'fail' | 'release' | 'error';
  readonly group?: string;
  readonly delay_ms?: number;
  readonly next?: string;
  readonly bytes?: string;
  /** Returns a text of so many letters. */
  readonly fills?: number;
  /** Stops all workers. */
  readonly stops?: boolean;
  /** Its outcome is one of those that only programs of this language have. */
  readonly odd?: boolean;
  readonly sets_context?: boolean;
  /** Returns a list in a list …, so many. */
  readonly nests?: number;
  /** Of what it raises; `odd` if it is left out. */
  readonly message?: string;
  readonly returns?: unknown;
  /** Returns what it would raise. Go knows two forms. */
  readonly returned?: 'value' | 'pointer';
}

/** Bytes stand in base64 beside the rest. */
function shown(data: unknown, contentType?: string): object {
  return data instanceof Uint8Array ? { bytes: base64(data), content_type: contentType } : { data };
}

function optionsOf({ key, key_ttl_ms, durability }: Keyed): PublishOptions {
  return { idempotencyKey: key, idempotencyTtlMs: key_ttl_ms, durability };
}

function jobOf({ bytes, ...wire }: WireJob): NewJob {
  const job = fromWire(wire) as NewJob;
  return bytes === undefined ? job : { ...job, data: Buffer.from(bytes, 'base64') };
}

async function behave(
  behaviour: Behaviour,
  job: Job,
  { signal, progress, dependencies }: HandlerContext,
): Promise<unknown> {
  const { group, delay_ms: delayMs, message = 'odd' } = behaviour;
  const options = {
    ...(group === undefined ? {} : { group }),
    ...(delayMs === undefined ? {} : { delayMs }),
  };
  print({ event: 'begun', type: job.type, attempts: job.attempts, ...shown(job.data, job.contentType) });
  if (behaviour.sets_context === true) {
    print({ event: 'context', value: store.getStore() ?? null });
    store.enterWith('a handler');
  }
  if (behaviour.returns_dependencies === true)
    return dependencies().map((one) => [one.id, one.state, one.result ?? null, one.truncated ?? false]);
  if (behaviour.progress !== undefined) await progress(behaviour.progress);
  await sleep(behaviour.ignore_ms ?? 0);
  await sleep(behaviour.wait_ms ?? 0, undefined, { signal }).catch(() => undefined);
  if (signal.aborted) print({ event: 'cancelled', code: (signal.reason as PumphouseError).code });
  if (behaviour.wait_ms !== undefined) signal.throwIfAborted();
  if (behaviour.stops === true) await stop();
  if (behaviour.odd === true) return oddOutcome(job.data as number);
  const raised = raisedBy(behaviour.raises, message, options);
  if (raised !== undefined && behaviour.returned !== undefined) return raised;
  if (raised !== undefined) throw raised;
  if (behaviour.next !== undefined) return new Next({ queue: behaviour.next, data: behaviour.returns });
  if (behaviour.nests !== undefined)
    return JSON.parse('['.repeat(behaviour.nests) + ']'.repeat(behaviour.nests));
  if (behaviour.fills !== undefined) return 'x'.repeat(behaviour.fills);
  return behaviour.bytes === undefined ? behaviour.returns : Buffer.from(behaviour.bytes, 'base64');
}

function raisedBy(kind: Behaviour['raises'], message: string, options: object): Error | undefined {
  if (kind === 'retry') return new Retry(message, options);
  if (kind === 'fail') return new Fail(message, options);
  if (kind === 'release') return new Release(options);
  return kind === 'error' ? new Error(message) : undefined;
}

async function stop(): Promise<void> {
  for (const worker of workers) await worker.stop();
}

function throws(error: unknown = new Error('odd')): never {
  throw error;
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

/** Outcomes that no handler should have. None of it settles a job as done. */
function oddOutcome(number: number): unknown {
  const deep = '['.repeat(20_000) + ']'.repeat(20_000);
  const outcomes: (() => unknown)[] = [
    () => throws(revoked()),
    () => throws(Object.defineProperty(new Error('x'), 'code', { get: () => throws() })),
    () => throws(Object.defineProperty(new Retry('x'), 'group', { get: () => throws() })),
    () => throws(Object.assign(Object.create(null) as object, { toString: () => throws() })),
    () => throws(undefined),
    () => throws(Symbol('x')),
    () => revoked(),
    () => ({ toJSON: () => throws() }),
    () => ({ toJSON: () => throws(revoked()) }),
    () => ({ then: () => throws(revoked()) }),
    () => 1n,
    () => new Next({ queue: 1n as unknown as string }),
    () => new Next({ queue: 'x', data: JSON.parse(deep) }),
    () => JSON.parse(deep) as unknown,
  ];
  return outcomes[number % outcomes.length]?.();
}

async function work(fields: Record<string, unknown>): Promise<object> {
  const { handlers, signals, ...options } = fields as {
    handlers: Record<string, Behaviour>;
    signals?: boolean;
  };
  const logger = { warn: () => undefined, error: () => undefined };
  const worker = client.worker({ ...(fromWire(options) as { queues: string[] }), logger });
  workers.push(worker);
  for (const [type, behaviour] of Object.entries(handlers))
    worker.handle(type, (job, context) => behave(behaviour, job, context));
  const running = worker
    .run({ signals: signals === true })
    .catch((error: unknown) => print({ event: 'refused', ...errorOf(error) }));
  if (signals === true) void running.then(() => process.exit());
  return await Promise.resolve({ worker: worker.id });
}

const commands: Record<string, (fields: never) => Promise<unknown>> = {
  publish: ({ job, ...call }: { job: WireJob } & Keyed) => client.publish(jobOf(job), optionsOf(call)),
  publish_many: async ({ jobs, ...call }: { jobs: WireJob[] } & Keyed) => ({
    jobs: await client.publishMany(jobs.map(jobOf), optionsOf(call)),
  }),
  publish_and_wait: async ({ job, wait_ms, ...call }: { job: WireJob; wait_ms: number } & Keyed) => {
    const options = { waitMs: wait_ms, ...optionsOf(call) };
    const { id, state, result, replayed } = await client.publishAndWait(jobOf(job), options);
    return { id, state, result, replayed };
  },
  get: async ({ id }: { id: string }) => {
    const { state, queue, type, tags, tries, triesLeft, data, contentType, result } =
      await client.jobs.get(id);
    const ended = result && shown(result.data, result.contentType);
    return {
      state,
      queue,
      type,
      tags,
      tries,
      tries_left: triesLeft,
      ...shown(data, contentType),
      result: ended,
    };
  },
  list: async ({ queue, limit }: { queue: string; limit: number }) => {
    const { items } = await client.jobs.list({ queue, limit, fields: ['data'] });
    const all: string[] = [];
    for await (const { id } of client.jobs.each({ queue, limit })) all.push(id);
    return { first: items.map(({ data }) => data), all };
  },
  cancel: ({ id }: { id: string }) => client.jobs.cancel(id),
  put: ({ id, job }: { id: string; job: WireJob }) => client.jobs.put(id, jobOf(job)),
  delete: ({ id, force = false }: { id: string; force?: boolean }) =>
    client.jobs.delete(id, { force }).then(() => ({})),
  set_variable: async ({ name, value }: { name: string; value: unknown }) => {
    await client.variables.set(name, value);
    const listed = (await client.variables.list()).find((one) => one.name === name)?.value;
    return { value: await client.variables.get(name), listed };
  },
  delete_variable: ({ name }: { name: string }) => client.variables.delete(name).then(() => ({})),
  revoke: ({ id }: { id: string }) => client.jobs.revoke(id),
  verify: async ({
    secrets,
    headers,
    body,
    now_s,
  }: {
    secrets: string[];
    headers: Record<string, string>;
    body: string;
    now_s: number;
  }) => ({
    id: await verify(secrets, headers, Buffer.from(body), { nowMs: now_s * 1_000 }),
  }),
  work: (fields) => work(fields),
  stop: async () => {
    await stop();
    return {};
  },
};

function errorOf(error: unknown): object {
  if (error instanceof WebhookError) return { code: 'webhook' };
  if (!(error instanceof PumphouseError)) return { code: 'other', message: String(error) };
  const { code, status, retryable, fields, requestId } = error;
  return { code, status, retryable, fields, has_request_id: requestId !== null };
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, do: name, with: fields } = JSON.parse(line) as Command;
  try {
    print({ id, result: await commands[name]!(fields as never) });
  } catch (error) {
    print({ id, error: errorOf(error) });
  }
}
