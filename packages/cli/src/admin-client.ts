import { isNativeError } from 'node:util/types';
import type { TlsOptions } from '@pumphouse/client';
import { httpCall, isUntrusted, UNTRUSTED_HINT } from './http-call.js';

/** The status of a refusal that a command finds out itself: there is no such object. */
export const NOT_FOUND = 404;

/** The server rejected the request, or the object does not exist: exit code 1. */
export class Refused extends Error {
  /** @param status HTTP status of the answer */
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

/** No answer, or what was given cannot be used: exit code 2. */
export class Unreachable extends Error {
  /** What to do about it, if the message does not say it. */
  readonly hint: string | undefined;

  constructor(message: string, { hint, ...options }: ErrorOptions & { readonly hint?: string } = {}) {
    super(message, options);
    this.hint = isUntrusted(options.cause) ? UNTRUSTED_HINT : hint;
  }
}

const NO_ANSWER =
  'Is the server running, and is this the address of its admin port? Give --admin, or set PUMPHOUSE_ADMIN_URL.';
const SLOW = `${NO_ANSWER} If it is slow, give --timeout.`;
const NOT_ADMIN =
  'The admin port is another one than that of the API. Give --admin, or set PUMPHOUSE_ADMIN_URL.';

/** What the API answers to a path of the admin port. */
const API_NOT_FOUND = 'api not found';

/** Address of the admin port and credentials. */
export interface AdminTarget {
  readonly url: URL;
  /** `user:password`. */
  readonly account?: string | undefined;
  readonly tls: TlsOptions;
  /** Time limit of a call, in milliseconds. */
  readonly timeoutMs: number;
}

/** One request to the admin port. */
export interface AdminRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Path segments; the client escapes them. */
  readonly path: readonly string[];
  /** Undefined values are not sent. */
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly json?: object;
}

/** Client of a server's admin port. */
export class AdminClient {
  constructor(private readonly target: AdminTarget) {}

  /**
   * Sends a request; every call ends within the timeout.
   *
   * @returns the answer's JSON, undefined if it has no body
   * @throws {Refused} 4xx
   * @throws {Unreachable} no answer, 5xx, or an answer that is not JSON
   */
  async call(request: AdminRequest): Promise<unknown> {
    const { url, timeoutMs } = this.target;
    const signal = AbortSignal.timeout(timeoutMs);
    const { status, text } = await this.send(request, signal).catch((error: unknown) => {
      const why = signal.aborted ? `no answer within ${String(timeoutMs / 1000)} s` : reasonOf(error);
      throw new Unreachable(`cannot reach the admin port at ${addressOf(url)}: ${why}`, {
        ...{ cause: error, hint: signal.aborted ? SLOW : NO_ANSWER },
      });
    });
    if (status < 300) return text === '' ? undefined : parse(text, url);
    const reason = errorIn(text) ?? `HTTP status ${String(status)}`;
    if (status === 404 && reason === API_NOT_FOUND)
      throw new Unreachable(`${addressOf(url)} is the API, and not the admin port`, { hint: NOT_ADMIN });
    if (status >= 500) throw new Unreachable(`${addressOf(url)} failed: ${reason}`);
    throw new Refused(status === 401 ? `${reason}: ${this.accountRule()}` : reason, status);
  }

  private accountRule(): string {
    return this.target.account === undefined
      ? 'the server has accounts. Give one with --account user:password, or set PUMPHOUSE_ADMIN_AUTH'
      : '--account (or PUMPHOUSE_ADMIN_AUTH) must name an account of this server, with its password';
  }

  private send(
    { method, path, query = {}, json }: AdminRequest,
    signal: AbortSignal,
  ): Promise<{ status: number; text: string }> {
    const { url, account, tls } = this.target;
    const address = new URL(path.map(encodeURIComponent).join('/'), `${addressOf(url)}/`);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) address.searchParams.set(name, value);
    }
    const headers: Record<string, string> = {};
    if (account !== undefined) headers['Authorization'] = `Basic ${Buffer.from(account).toString('base64')}`;
    if (json !== undefined) headers['Content-Type'] = 'application/json';
    const body = json === undefined ? {} : { body: JSON.stringify(json) };
    return httpCall({ method, url: address, headers, tls, signal, ...body });
  }
}

/** Without credentials, and without a slash at its end. A proxy may serve the admin port under a path. */
export function addressOf({ origin, pathname }: URL): string {
  return `${origin}${/* guard: admin-port-under-a-path */ pathname.replace(/\/+$/, '')}`;
}

function reasonOf(error: unknown): string {
  const cause = isNativeError(error) && error.cause !== undefined ? error.cause : error;
  if (!isNativeError(cause)) return String(cause);
  return cause.message !== '' ? cause.message : 'code' in cause ? String(cause.code) : cause.name;
}

function parse(text: string, url: URL): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Unreachable(`the server at ${addressOf(url)} is not a Pumphouse admin port`, {
      ...{ cause: error, hint: NOT_ADMIN },
    });
  }
}

function errorIn(text: string): string | undefined {
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body !== 'object' || body === null || !('error' in body)) return undefined;
    return String(body.error);
  } catch {
    return undefined;
  }
}
