import { isIP, isIPv4 } from 'node:net';
import type { NodeAddress } from '../domain/pool.js';

/** `url` of a pool whose Redis this server runs itself. */
export const EMBEDDED = 'embedded';

/** The usual port of Redis, where an address names none. */
export const REDIS_PORT = 6379;

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

/** Parses `announced=reachable`, two addresses as `parseAddress` reads them; null if it is none. */
export function parseMapping(
  text: string,
  defaultPort: number,
): { readonly announced: NodeAddress; readonly reachable: NodeAddress } | null {
  const [announced, reachable, ...rest] = text.split('=').map((one) => parseAddress(one, defaultPort));
  return announced && reachable && rest.length === 0 ? { announced, reachable } : null;
}

/** Origins of apps that are no web sites, such as `capacitor://localhost`: `URL` knows no origin of them. */
const APP_ORIGIN = /^(?!https?:)[a-z][a-z\d+.-]*:\/\/[a-z\d.-]+(?::\d+)?$/;

/** True if browsers send exactly this text as the `Origin` of some page, or if it is `*`. */
export function isOrigin(text: string): boolean {
  return text === '*' || APP_ORIGIN.test(text) || isWebOrigin(text);
}

/** True for the origin of an http or https URL, as `URL` writes it. */
export function isWebOrigin(text: string): boolean {
  // `URL` takes a star for a part of a name; no browser sends one.
  return /^https?:[^*]*$/.test(text) && URL.canParse(text) && new URL(text).origin === text;
}

/** True if only this machine can reach the address. */
export function isLoopback(host: string): boolean {
  const address = host.toLowerCase();
  return address === 'localhost' || address === '::1' || (isIPv4(address) && address.startsWith('127.'));
}

/** True for a URL of https, or of http on a loopback address: what is sent there cannot be read on the way. */
export function isSafeUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname.replace(/^\[|\]$/g, '')));
}

/** True for a range of addresses as `10.2.0.0/16`, or a single address. */
export function isAddressRange(text: string): boolean {
  const [, address = '', bits] = /^([0-9A-Fa-f.:]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const family = isIP(address);
  return family !== 0 && Number(bits ?? 0) <= (family === 4 ? 32 : 128);
}

/** True for a port, or a range of ports as `8000-8999`. */
export function isPortRange(text: string): boolean {
  return portRange(text) !== null;
}

/** The first and the last port of a range; null if it is none. */
function portRange(text: string): readonly [first: number, last: number] | null {
  const [, first = '', last = first] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(text) ?? [];
  const range = [Number(first), Number(last)] as const;
  return first !== '' && range[0] >= 1 && range[0] <= range[1] && range[1] <= MAX_PORT ? range : null;
}

/** True for a port that one of the ranges has. */
export function isPortIn(ranges: readonly string[], port: number): boolean {
  return ranges.some((text) => {
    const range = portRange(text);
    return range !== null && port >= range[0] && port <= range[1];
  });
}
