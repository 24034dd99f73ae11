import { type Answer, type CallOptions, TestApp } from './app.js';
import { type AnswerCheck, answerCheck } from './openapi.js';

/** A job as an answer shows it. */
export interface Job {
  readonly id: string;
  readonly queue: string;
  readonly lease: number;
  readonly [field: string]: unknown;
}

/** The server of a spec file, whose data may have 5,000 bytes. */
export let app: TestApp;
let check: AnswerCheck;

/** Has the tests of a file run against a server of their own. */
export function useNativeApi(): void {
  beforeAll(async () => {
    app = await TestApp.start({ PUMPHOUSE_LIMITS__MAX_BODY_BYTES: '5000' });
    check = answerCheck((await app.get('/v1/openapi.json', { token: null })).json);
  });
  afterAll(() => app.stop());
}

/** Spellings of `jobs` and `leases`: the fast path takes plain ones, and leaves escaped ones to the router. */
export const WAYS: readonly [string, (path: string) => string][] = [
  ['the fast path', (path) => path],
  ['the router', (path) => path.replace(/^jobs(?=\?|$)/, '%6aobs').replace(/^leases$/, '%6ceases')],
];
let spelt = WAYS[0]![1];

/** From here on calls are spelt so. */
export function spell(spelling: (path: string) => string): void {
  spelt = spelling;
}

let count = 0;
/** A name that nothing else of this file has. */
export const fresh = (what = 'q'): string => `${what}${String(count++)}`;

/** A call of the native API, whose answer must be as the document says. */
export async function call(
  method: string,
  path: string,
  body?: unknown,
  options: CallOptions = {},
): Promise<Answer> {
  const answer = await app.call(method, `/v1/${app.namespace}/${spelt(path)}`, {
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    ...options,
  });
  check(method, `/${path.split('?')[0]!}`, answer);
  return answer;
}

/** What a call says, which must not be a refusal. */
export async function given<T>(method: string, path: string, body?: object): Promise<T> {
  const { status, json, text } = await call(method, path, body);
  if (status >= 300) throw new Error(`${String(status)} ${text}`);
  return json as T;
}

export const post = (path: string, body: unknown, options?: CallOptions): Promise<Answer> =>
  call('POST', path, body, options);

export async function publish(job: object, options?: CallOptions): Promise<{ id: string; state: string }> {
  const { status, json, text } = await post('jobs', job, options);
  if (status !== 201) throw new Error(`${String(status)} ${text}`);
  return json as { id: string; state: string };
}

export async function lease(body: object, options?: CallOptions): Promise<Job[]> {
  const { status, json, text } = await post('leases', body, options);
  if (status !== 200) throw new Error(`${String(status)} ${text}`);
  return (json as { jobs: Job[] }).jobs;
}

export async function leaseOne(queue: string, more: object = {}): Promise<Job> {
  const [job] = await lease({ queues: [queue], ...more });
  if (job === undefined) throw new Error(`nothing to lease in ${queue}`);
  return job;
}

export async function find(id: string): Promise<Job> {
  return given<Job>('GET', `jobs/${id}`);
}

export const code = ({ json }: Answer): unknown => (json as { code: unknown }).code;
export const wrongFields = ({ json }: Answer): string[] =>
  (json as { errors: { field: string }[] }).errors.map(({ field }) => field);
