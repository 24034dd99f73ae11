import { HttpDriver } from './http-driver.js';
import { checkNames, definedOf, type Optional } from './optional.js';
import { Calls } from './producer/calls.js';
import { DeadLetter } from './producer/dead-letter.js';
import { type EventOptions, eventsOf, type PlacedEvent } from './producer/events.js';
import { Jobs } from './producer/jobs.js';
import { Operations } from './producer/operations.js';
import { Producer } from './producer/producer.js';
import { Queues } from './producer/queues.js';
import { Recurring } from './producer/recurring.js';
import { Stats, Workers } from './producer/stats.js';
import { Targets } from './producer/targets.js';
import { Variables } from './producer/variables.js';
import { ApiClient, RETRY_LIMITS, type RetryLimits } from './transport/api-client.js';
import { fetchTransport } from './transport/fetch-transport.js';
import type { TlsOptions, TransportFactory } from './transport/transport.js';
import { Worker, type WorkerOptions } from './worker/worker.js';

export interface PumphouseOptions {
  /** Where the server is: `https://queue.example.com`, with a path if it is behind a proxy that adds one; `PUMPHOUSE_URL`. */
  readonly url?: string | URL | undefined;
  /** `PUMPHOUSE_NAMESPACE` */
  readonly namespace?: string | undefined;
  /** `PUMPHOUSE_TOKEN` */
  readonly token?: string | undefined;
  /** Bounds of each call and its retries; 10 s in all, 5 s each attempt, 20 attempts. */
  readonly retry?: Optional<RetryLimits> | undefined;
  /** In Node.js, for https: the CA of the server's certificate, and a client certificate; PEM texts. */
  readonly tls?: TlsOptions | undefined;
  /** Bytes of an answer, at most: a longer one is an error, `answer_too_large`; 67,108,864. */
  readonly maxAnswerBytes?: number | undefined;
  /** How requests are sent; for tests. */
  readonly transport?: TransportFactory | undefined;
}

let usualTransport: TransportFactory = fetchTransport;

/** Sets how clients send requests that do not say. */
export function setUsualTransport(transport: TransportFactory): void {
  usualTransport = transport;
}

/** A client of one namespace. It may be used by all parts of a program at once, and holds idle connections only. */
export class Pumphouse extends Producer {
  readonly jobs: Jobs;
  readonly queues: Queues;
  readonly deadLetter: DeadLetter;
  readonly recurring: Recurring;
  readonly operations: Operations;
  readonly stats: Stats;
  readonly targets: Targets;
  readonly workers: Workers;
  readonly variables: Variables;
  /** For a worker of your own. */
  readonly driver: HttpDriver;
  private readonly api: ApiClient;

  /**
   * What `url`, `namespace` and `token` leave out is taken from the environment.
   *
   * @throws {TypeError} one of them is missing, or is no URL, namespace or token
   */
  constructor(options: PumphouseOptions = {}) {
    const { retry = {}, tls, transport = usualTransport, maxAnswerBytes } = options;
    const url = urlOf(given('url', options.url));
    const namespace = textOf('namespace', options.namespace);
    const token = textOf('token', options.token);
    if (maxAnswerBytes !== undefined && !(Number.isSafeInteger(maxAnswerBytes) && maxAnswerBytes >= 1))
      throw new TypeError('new Pumphouse: maxAnswerBytes must be a whole number from 1');
    const api = new ApiClient({
      url,
      namespace,
      token,
      transport: transport(url, tls),
      limits: limitsOf(retry),
      ...(maxAnswerBytes === undefined ? {} : { maxAnswerBytes }),
    });
    const driver = new HttpDriver(api);
    super(driver);
    this.driver = driver;
    this.api = api;
    const calls = new Calls(api);
    this.jobs = new Jobs(calls);
    this.queues = new Queues(calls);
    this.deadLetter = new DeadLetter(calls);
    this.recurring = new Recurring(calls);
    this.operations = new Operations(calls);
    this.stats = new Stats(calls);
    this.targets = new Targets(calls);
    this.workers = new Workers(calls);
    this.variables = new Variables(calls);
  }

  /** What happens in the namespace, from now on or behind the event at `after`. */
  events(options: EventOptions = {}): AsyncGenerator<PlacedEvent, void, void> {
    return eventsOf(this.api, options);
  }

  /** A worker of this namespace; `run` starts it. */
  worker(options: WorkerOptions = {}): Worker {
    return new Worker(this.driver, options);
  }

  /** Closes idle connections. A program ends without it, too. */
  close(): void {
    this.api.close();
  }
}

/** The part of Node.js's `process` that is used; browsers have none. */
interface Environment {
  readonly process?: { readonly env?: Readonly<Record<string, string | undefined>> };
}

/** An option, or its variable of the environment. @throws {TypeError} both are missing, or empty */
function given<T>(option: string, value: T | undefined): NonNullable<T> | string {
  const variable = `PUMPHOUSE_${option.toUpperCase()}`;
  // The environment is read only for what is left out: Deno asks for it.
  const chosen = value ?? (globalThis as Environment).process?.env?.[variable];
  if (chosen === undefined || chosen === '')
    throw new TypeError(`new Pumphouse: ${option} is missing: give the option ${option}, or set ${variable}`);
  return chosen;
}

function urlOf(text: string | URL): URL {
  const url = URL.canParse(String(text)) ? new URL(text) : null;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  throw new TypeError(
    'new Pumphouse: url is invalid: it must begin with http:// or https://, as http://127.0.0.1:7777 (option url, or PUMPHOUSE_URL)',
  );
}

/** @throws {TypeError} one of them is no number that can be waited or counted */
function limitsOf(retry: Optional<RetryLimits>): RetryLimits {
  checkNames('new Pumphouse: retry', retry, RETRY_LIMITS);
  const limits = { ...RETRY_LIMITS, ...definedOf(retry) };
  if (!(Number.isInteger(limits.tries) && limits.tries >= 1))
    throw new TypeError('new Pumphouse: retry.tries must be a whole number from 1');
  for (const name of ['withinMs', 'attemptMs'] as const) {
    if (!(limits[name] > 0))
      throw new TypeError(`new Pumphouse: retry.${name} must be a number of milliseconds above 0`);
  }
  return limits;
}

/** No message shows a value: it may be a secret. */
function textOf(option: string, value: unknown): string {
  const text: unknown = given(option, value);
  if (typeof text === 'string' && /^[!-~]+$/.test(text)) return text;
  throw new TypeError(`new Pumphouse: ${option} is invalid: it must be of visible ASCII characters`);
}
