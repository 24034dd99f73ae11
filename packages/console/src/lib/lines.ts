import { signal } from '@preact/signals';
import type { Place } from './place.js';

/* What a view or an action is on the command line: a curl line and a `pumphouse` line. Never a secret: variables name them. */

interface Server {
  readonly adminUrl: string;
  /** Null: not known. */
  readonly apiUrl: string | null;
  readonly hasAccounts: boolean;
}

/** What the lines need to know of the server that this page is from. */
export const server = signal<Server>({
  adminUrl: 'http://127.0.0.1:7778',
  apiUrl: 'http://127.0.0.1:7777',
  hasAccounts: true,
});

/** A call of the API or of the admin port. */
export interface Call {
  readonly method: string;
  /** From the root of its port: `/v1/demo/queues`, `/redis`. */
  readonly path: string;
  /** JSON, as it is sent. */
  readonly body?: string | undefined;
}

/** The lines of a view or an action; `cli` is null where the command line has no command for it. */
export interface Lines {
  readonly curl: string;
  readonly cli: string | null;
}

const SAFE = /^[\w@%+=:,./-]+$/;

/** A text as one argument of a POSIX shell. */
export function quoted(text: string): string {
  if (text !== '' && SAFE.test(text)) return text;
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** What stands in place of a secret in a line. */
const SECRET = '"$TOKEN"';

/** A variable of the shell, for use in double quotes, with a value for where it is not set. */
function usually(variable: string, value: string | null): string {
  return value !== null && SAFE.test(value) ? `\${${variable}:-${value}}` : `$${variable}`;
}

/** The same with a secret in it, which is not shown: a variable of the shell stands in its place. */
function withoutSecret(text: string, secret: string | undefined): string {
  if (secret === undefined) return quoted(text);
  const parts = text.replaceAll(encodeURIComponent(secret), secret).split(secret);
  return parts.map((part) => (part === '' ? '' : quoted(part))).join(SECRET);
}

/** The curl line of a call. Calls of the API need a token, those of the admin port an account. @param secret that is in its path */
export function curlOf({ method, path, body }: Call, secret?: string): string {
  const isApi = path.startsWith('/v1/');
  const { adminUrl, apiUrl, hasAccounts } = server.value;
  const base = isApi ? usually('PUMPHOUSE_URL', apiUrl) : usually('PUMPHOUSE_ADMIN_URL', adminUrl);
  const auth = isApi ? ' -H "X-Token: $PUMPHOUSE_TOKEN"' : hasAccounts ? ' -u "$PUMPHOUSE_ADMIN_AUTH"' : '';
  const verb = method === 'GET' || (method === 'POST' && body !== undefined) ? '' : ` -X ${method}`;
  const sent = body === undefined ? '' : ` -d ${quoted(body)}`;
  return `curl -s${verb}${auth} "${base}"${withoutSecret(path, secret)}${sent}`;
}

/**
 * The lines of a call.
 *
 * @param args of `pumphouse`, before its namespace; a text is the whole line; null: there is no such command
 * @param secret that is in the call and in `args`, and not shown
 */
export function linesOf(
  call: Call,
  place: Place | null,
  args: readonly string[] | string | null,
  secret?: string,
): Lines {
  const curl = curlOf(call, secret);
  if (args === null || typeof args === 'string') return { curl, cli: args };
  const where = place === null ? [] : ['--namespace', place.namespace];
  const all = ['pumphouse', ...args, ...where];
  return { curl, cli: all.map((one) => (one === '' ? "''" : withoutSecret(one, secret))).join(' ') };
}

/** A query with the parameters that are set, in order; empty if none is. */
export function queryOf(
  values: Readonly<Record<string, string | number | boolean | null | undefined>>,
): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(values))
    if (value !== null && value !== undefined && value !== '') search.set(name, String(value));
  const text = search.toString();
  return text === '' ? '' : `?${text}`;
}
