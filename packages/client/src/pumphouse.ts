import { HttpDriver } from './http-driver.js';
import { Calls } from './producer/calls.js';
import { DeadLetter } from './producer/dead-letter.js';
import { type EventOptions, eventsOf, type PlacedEvent } from './producer/events.js';
import { Jobs } from './producer/jobs.js';
import { Producer } from './producer/producer.js';
import { Queues } from './producer/queues.js';
import { Recurring } from './producer/recurring.js';
import { Stats, Workers } from './producer/stats.js';
import { Targets } from './producer/targets.js';
import { ApiClient, RETRY_LIMITS, type RetryLimits } from './transport/api-client.js';
import { fetchTransport } from './transport/fetch-transport.js';
import type { TlsOptions, TransportFactory } from './transport/transport.js';
import { Worker, type WorkerOptions } from './worker/worker.js';

export interface PumphouseOptions {
  /** Where the server is: `https://queue.example.com`, with a path if it is behind a proxy that adds one. */
  readonly url: string | URL;
  readonly namespace: string;
  readonly token: string;
  /** Bounds of each call and its retries; 5 attempts, 10 s in all, 5 s each. */
  readonly retry?: Partial<RetryLimits>;
  /** In Node.js, for https: the CA of the server's certificate, and a client certificate; PEM texts. */
  readonly tls?: TlsOptions;
  /** Bytes of an answer, at most: a longer one is an error, `answer_too_large`; 67,108,864. */
  readonly maxAnswerBytes?: number;
  /** How requests are sent; for tests. */
  readonly transport?: TransportFactory;
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
  readonly stats: Stats;
  readonly targets: Targets;
  readonly workers: Workers;
  /** For a worker of your own. */
  readonly driver: HttpDriver;
  private readonly api: ApiClient;

  /** @throws {TypeError} an option is missing, or is no URL, namespace or token */
  constructor(options: PumphouseOptions) {
    const { namespace, token, retry, tls, transport = usualTransport, maxAnswerBytes } = options;
    const url = urlOf(options.url);
    checkText('namespace', namespace);
    checkText('token', token);
    if (maxAnswerBytes !== undefined && !(Number.isSafeInteger(maxAnswerBytes) && maxAnswerBytes >= 1))
      throw new TypeError('new Pumphouse: maxAnswerBytes must be a whole number from 1');
    const api = new ApiClient({
      url,
      namespace,
      token,
      transport: transport(url, tls),
      limits: { ...RETRY_LIMITS, ...retry },
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
    this.stats = new Stats(calls);
    this.targets = new Targets(calls);
    this.workers = new Workers(calls);
  }

  /** What happens in the namespace, from now on or behind the event at `after`. */
  events(options: EventOptions = {}): AsyncGenerator<PlacedEvent, void, void> {
    return eventsOf(this.api, options);
  }

  /** A worker of this namespace; `run` starts it. */
  worker(options: WorkerOptions): Worker {
    return new Worker(this.driver, options);
  }

  /** Closes idle connections. A program ends without it, too. */
  close(): void {
    this.api.close();
  }
}

function urlOf(given: string | URL): URL {
  const url = URL.canParse(String(given)) ? new URL(given) : null;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  const is = given ? 'is invalid' : 'is missing';
  throw new TypeError(`new Pumphouse: url ${is}; it must be like http://127.0.0.1:7777`);
}

/** Most often a variable of the environment that is not set. No message shows a value: it may be a secret. */
function checkText(option: string, value: unknown): void {
  if (typeof value !== 'string' || !/^[!-~]+$/.test(value))
    throw new TypeError(`new Pumphouse: ${option} ${problemOf(value)}`);
}

function problemOf(value: unknown): string {
  return value === undefined || value === ''
    ? 'is missing'
    : 'is invalid: it must be of visible ASCII characters';
}
