import { type ApiCall, type ApiClient, parseAnswer } from '../transport/api-client.js';
import { isOfProxy, isPumphouseError } from '../errors.js';
import { fromWire, toWire } from '../wire.js';
import type { Page, PageOptions } from './answers.js';
import { objectWith, payloadMembers, type JobPayload } from './new-job.js';

/** What every call takes. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

type Fields = Omit<ApiCall, 'isRepeatable' | 'signal' | 'body'> & {
  /** In the form of this library; or what makes JSON text, whose errors are those of the call. */
  readonly body?: object | (() => string);
  readonly isRepeatable?: boolean;
};

/** Calls whose fields and answers are in the form of this library. */
export class Calls {
  constructor(private readonly api: ApiClient) {}

  /** Unless `isRepeatable` says otherwise, GET, PUT and PATCH are as good twice as once. */
  async send<T>(fields: Fields, { signal }: CallOptions): Promise<T> {
    const { body, query, ...rest } = fields;
    const answer = await this.api.call({
      isRepeatable: fields.method !== 'POST',
      ...rest,
      query: query && (toWire(query) as Record<string, unknown>),
      body: typeof body === 'object' ? JSON.stringify(toWire(body)) : body?.(),
      // guard: client-http-signal
      signal,
    });
    return (answer.text === '' ? undefined : fromWire(parseAnswer(answer))) as T;
  }

  /** A DELETE, for which it is right that an earlier attempt has done it. */
  async remove(path: string, options: CallOptions, query?: Readonly<Record<string, unknown>>): Promise<void> {
    try {
      await this.send({ method: 'DELETE', path, query }, options);
    } catch (error) {
      const isGone = isPumphouseError(error) && error.status === 404 && !isOfProxy(error);
      if (!isGone || !error.mayBeDone) throw error;
    }
  }

  /** The items of all pages. */
  async *items<T>(
    fetchPage: (page: PageOptions) => Promise<Page<T>>,
    first: PageOptions,
  ): AsyncGenerator<T, void, void> {
    let cursor = first.cursor;
    do {
      const page = await fetchPage(cursor === undefined ? first : { ...first, cursor });
      yield* page.items;
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
  }
}

/** A part of a path. */
export const part = encodeURIComponent;

/** The JSON of fields of which some state a payload. @param at their path, as of `toWire` */
export function withPayload(fields: JobPayload & object, at = ''): string {
  const { data, json, contentType, ...rest } = fields;
  return objectWith(toWire(rest, at) as object, payloadMembers({ data, json, contentType }, at));
}
