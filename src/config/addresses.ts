import { isIPv4 } from 'node:net';
import type { NodeAddress } from '../domain/pool.js';

/** `url` of a pool whose Redis this server runs itself. */
export const EMBEDDED = 'embedded';

const HOST_AND_PORT = /^(?:\[(?<ipv6>[0-9A-Fa-f:.]+)\]|(?<host>[^\s:/@[\]]+))(?::(?<port>\d{1,5}))?$/;
const MAX_PORT = 65_535;

/** Parses `host:port`, `[ipv6]:port`, or a host alone; null if it is none of them. */
export function parseAddress(text: string, defaultPort: number): NodeAddress | null {
  const { ipv6, host, port } = HOST_AND_PORT.exec(text.trim())?.groups ?? {};
  const name = ipv6 ?? host;
  if (name === undefined) return null;
  const number = port === undefined ? defaultPort : Number(port);
  return number >= 1 && number <= MAX_PORT ? { host: name, port: number } : null;
}

/** What is wrong with the URL of a Redis, without quoting the URL; null if nothing. */
export function redisUrlProblem(value: unknown): string | null {
  const expected = 'must be redis://[user:password@]host[:port][/db] or rediss://…';
  if (typeof value !== 'string') return expected;
  const url = URL.canParse(value) ? new URL(value) : null;
  if (!/^rediss?:\/\/[^/]/i.test(value) || !url || url.hostname === '') {
    return `${expected} (write special characters of a password as %xx)`;
  }
  if (url.search !== '' || url.hash !== '') return `${expected}, without ? or #`;
  if (!/^\/?(?:\d{1,5})?$/.test(url.pathname)) return `${expected}; db is a number`;
  return hasBrokenEscape(url.username + url.password) ? `${expected}; a %xx in it is broken` : null;
}

function hasBrokenEscape(text: string): boolean {
  try {
    decodeURIComponent(text);
    return false;
  } catch {
    return true;
  }
}

/** True if only this machine can reach the address. */
export function isLoopback(host: string): boolean {
  const address = host.toLowerCase();
  return address === 'localhost' || address === '::1' || (isIPv4(address) && address.startsWith('127.'));
}
