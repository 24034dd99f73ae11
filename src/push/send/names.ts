import { Resolver } from 'node:dns/promises';
import { SendError } from './send-error.js';

/** An address that a name has. */
export interface NamedAddress {
  readonly address: string;
  readonly family: 4 | 6;
}

/** How long an answer counts at most, and at least, in milliseconds: between them its own TTL. */
const MAX_AGE_MS = 30_000;
const MIN_AGE_MS = 1_000;
/** Names whose answers are kept. */
const MOST_NAMES = 1_000;
/** Of one query, in milliseconds; it is sent twice at most. */
const TIMEOUT_MS = 2_000;
const TRIES = 2;
/** Errors that say: there is none of this kind. */
const NONE = new Set(['ENODATA', 'ENOTFOUND']);

interface Known {
  readonly addresses: Promise<readonly NamedAddress[]>;
  endsAtMs: number;
}

/**
 * Looks up names by DNS. Not with `dns.lookup`: its four threads also read files and encrypt, and four names that hang
 * stop all of that. So the hosts file and search domains do not count.
 */
export class Names {
  private readonly resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES });
  private readonly known = new Map<string, Known>();

  /** @param servers addresses of DNS servers, as `127.0.0.1:53`; none = those of the system */
  constructor(servers: readonly string[] = []) {
    if (servers.length > 0) this.resolver.setServers(servers);
  }

  /** All addresses of a name, IPv4 first; lookups of one name are shared. @throws {SendError} `dns` */
  addressesOf(name: string): Promise<readonly NamedAddress[]> {
    const known = this.known.get(name);
    if (known && performance.now() < known.endsAtMs) return known.addresses;
    const entry: Known = {
      addresses: this.lookUp(name, (ageMs) => {
        entry.endsAtMs = performance.now() + ageMs;
      }),
      endsAtMs: Number.POSITIVE_INFINITY,
    };
    // Names come and go: the cache is bounded.
    if (this.known.size >= MOST_NAMES) this.known.clear();
    this.known.set(name, entry);
    entry.addresses.catch(() => {
      if (this.known.get(name) === entry) this.known.delete(name);
    });
    return entry.addresses;
  }

  private async lookUp(name: string, keepFor: (ageMs: number) => void): Promise<readonly NamedAddress[]> {
    const [four, six] = await Promise.allSettled([
      this.resolver.resolve4(name, { ttl: true }),
      this.resolver.resolve6(name, { ttl: true }),
    ]);
    const found = [
      ...(four.status === 'fulfilled' ? four.value.map((one) => ({ ...one, family: 4 as const })) : []),
      ...(six.status === 'fulfilled' ? six.value.map((one) => ({ ...one, family: 6 as const })) : []),
    ];
    if (found.length === 0) throw dnsError(name, [four, six]);
    const ttlMs = Math.min(...found.map(({ ttl }) => ttl)) * 1_000;
    keepFor(Math.min(Math.max(ttlMs, MIN_AGE_MS), MAX_AGE_MS));
    return found.map(({ address, family }) => ({ address, family }));
  }
}

function dnsError(name: string, results: readonly PromiseSettledResult<unknown>[]): SendError {
  const codes = results.flatMap((one) =>
    one.status === 'rejected' ? [String((one.reason as NodeJS.ErrnoException).code)] : [],
  );
  const code = codes.find((one) => !NONE.has(one)) ?? codes[0] ?? 'ENODATA';
  return new SendError('dns', `${name} has no address: ${code}`);
}
