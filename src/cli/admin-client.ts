import { httpCall, type TlsTrust } from './http-call.js';

/** The server said no, or there is no such thing: exit code 1. */
export class Refused extends Error {
  /** @param status the answer's HTTP status */
  constructor(
    message: string,
    readonly status: number,
  ) {
    super(message);
  }
}

/** Nobody answered, or what answered is no working admin port: exit code 2. */
export class Unreachable extends Error {}

/** Where the admin port is, and who asks. */
export interface AdminTarget {
  readonly url: URL;
  /** `user:password`. */
  readonly account?: string | undefined;
  readonly tls: TlsTrust;
  /** Milliseconds that a call may take. */
  readonly timeoutMs: number;
}

/** One request of the admin port. */
export interface AdminRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Path segments; they are escaped here. */
  readonly path: readonly string[];
  /** Left out values are not sent. */
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly json?: object;
}

/** Speaks to a server's admin port. */
export class AdminClient {
  constructor(private readonly target: AdminTarget) {}

  /**
   * Makes a call; every call ends within the time-out.
   *
   * @returns the answer's JSON, undefined if it has no body
   * @throws {Refused} 4xx
   * @throws {Unreachable} no answer, 5xx, or an answer that is no JSON
   */
  async call(request: AdminRequest): Promise<unknown> {
    const { url, timeoutMs } = this.target;
    const signal = AbortSignal.timeout(timeoutMs);
    const { status, text } = await this.send(request, signal).catch((error: unknown) => {
      const why = signal.aborted ? `no answer within ${String(timeoutMs / 1000)} s` : reasonOf(error);
      throw new Unreachable(`cannot reach the admin port at ${url.origin}: ${why}`, { cause: error });
    });
    if (status < 300) return text === '' ? undefined : parse(text, url);
    const said = errorIn(text) ?? `HTTP status ${String(status)}`;
    if (status >= 500) throw new Unreachable(`${url.origin} failed: ${said}`);
    throw new Refused(
      status === 401 ? `${said}: --account must name an account of this server, with its password` : said,
      status,
    );
  }

  private send(
    { method, path, query = {}, json }: AdminRequest,
    signal: AbortSignal,
  ): Promise<{ status: number; text: string }> {
    const { url, account, tls } = this.target;
    const address = new URL(path.map(encodeURIComponent).join('/'), `${url.origin}/`);
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

function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  if (!(cause instanceof Error)) return String(cause);
  return cause.message !== '' ? cause.message : 'code' in cause ? String(cause.code) : cause.name;
}

function parse(text: string, url: URL): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Unreachable(`what answers at ${url.origin} is no Pumphouse admin port`, { cause: error });
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
