import type { IncomingHttpHeaders } from 'node:http';
import { isIPv4, isIPv6 } from 'node:net';

/** Calls that every site and every host name may use: they change nothing and reveal no secret. */
const OPEN_TO_ALL: ReadonlySet<string> = new Set([
  ...['GET /healthz', 'GET /readyz', 'GET /metrics'],
  // guard: probes-by-head-under-any-name
  ...['HEAD /healthz', 'HEAD /readyz', 'OPTIONS /'],
]);
/** The console and the way to it, which a link of any page may open. Its files have no secret; the calls that they make are checked. */
const CONSOLE = /^\/(?:ui(?:[/?]|$)|\?|$)/;
/** Where the provider of OpenID Connect sends browsers back, from its own site. The call checks what they bring. */
const FROM_PROVIDER = 'GET /sign-in/oidc/callback';
const OWN_SITE: ReadonlySet<unknown> = new Set([undefined, 'same-origin', 'none']);
/** The machine itself resolves `localhost`, without DNS. */
const LOCALHOST = 'localhost';
const HOST_HEADER = /^(?:\[(?<ipv6>[^\]]+)\]|(?<name>[^:]+))(?::\d*)?$/;
const SHOWN_CHARACTERS = 100;

/** Why a request is rejected: the broken rule, and what to do. */
export interface BrowserRefusal {
  readonly rule: 'sec_fetch_site' | 'origin' | 'host';
  readonly error: string;
}

/** The parts of a request that the rules check. */
export interface BrowserRequest {
  readonly method: string;
  /** Including the query. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
}

/**
 * Rejects requests that web pages of other sites send to the admin port through an operator's browser, which submits
 * forms and stored passwords on its own. A page whose own host name resolves to this server (DNS rebinding) counts as
 * the same site, so the `Host` header must hold an IP address or a configured name. Programs send none of the browsers'
 * headers.
 */
export class BrowserRules {
  private readonly names: ReadonlySet<string>;

  /** @param names of this server, besides `localhost` */
  constructor(names: readonly string[]) {
    this.names = new Set([LOCALHOST, ...names.map((name) => name.toLowerCase())]);
  }

  /** @returns undefined if the request is allowed */
  refusalOf({ method, url, headers }: BrowserRequest): BrowserRefusal | undefined {
    const call = `${method} ${url.split('?', 1)[0] ?? ''}`;
    if (OPEN_TO_ALL.has(call)) return undefined;
    if (method === 'GET' && CONSOLE.test(url)) return undefined;
    const { host = '', origin } = headers;
    // guard: admin-refuses-other-sites
    if (!OWN_SITE.has(headers['sec-fetch-site']) && call !== FROM_PROVIDER)
      return { rule: 'sec_fetch_site', error: 'a web page of another site must not call the admin port' };
    if (origin !== undefined && !isOfHost(origin, host))
      return { rule: 'origin', error: 'a web page of another origin must not call the admin port' };
    if (this.isOwn(host)) return undefined;
    const error = `unknown host ${JSON.stringify(host.slice(0, SHOWN_CHARACTERS))}: call the admin port by IP address, or add the name to admin.hosts`;
    return { rule: 'host', error };
  }

  private isOwn(header: string): boolean {
    const { ipv6, name } = HOST_HEADER.exec(header)?.groups ?? {};
    if (ipv6 !== undefined) return isIPv6(ipv6);
    return (
      name !== undefined &&
      (isIPv4(name) || /* guard: host-name-must-be-known */ this.names.has(name.toLowerCase()))
    );
  }
}

/** True if an origin has the host and port of a `Host` header. The default port of the origin's scheme may be left out. */
function isOfHost(origin: string, host: string): boolean {
  const page = URL.canParse(origin) ? new URL(origin) : null;
  if (page === null || page.host === '') return false;
  const own = `${page.protocol}//${host}`;
  return URL.canParse(own) && /* guard: origin-has-the-port-too */ new URL(own).host === page.host;
}
