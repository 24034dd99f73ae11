import { isIP, type LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import type { AddressRules } from './address-rules.js';
import type { NamedAddress, Names } from './names.js';
import { SendError } from './send-error.js';

/** What decides whether a connection may be made. */
export interface ConnectionRules {
  readonly addresses: AddressRules;
  readonly isPortAllowed: (port: number) => boolean;
  readonly names: Names;
}

/** Time limit of a connection with its TLS handshake, in milliseconds; the deadline of the request may be earlier. */
const CONNECT_MS = 10_000;
/** Ports that a URL does not show. */
const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

/**
 * Connects only to addresses that the rules allow; checked for each new connection. A name is looked up once, every
 * address of it must be allowed, and the socket is given those addresses: it asks no other resolver. Literal addresses are checked here,
 * because Node.js never calls `lookup` for them.
 */
export function guardedConnector(rules: ConnectionRules): buildConnector.connector {
  const lookup: LookupFunction = (name, { all }, callback) => {
    allowedAddresses(name, rules).then(
      (found) => {
        const [first] = found;
        if (all === true) callback(null, [...found]);
        else if (first) callback(null, first.address, first.family);
      },
      (error: unknown) => callback(error as NodeJS.ErrnoException, []),
    );
  };
  const connect = buildConnector({ timeout: CONNECT_MS, autoSelectFamily: true, lookup });
  return (options, callback) => {
    const { hostname, port, protocol } = options;
    const number = port === '' ? DEFAULT_PORTS[protocol] : Number(port);
    if (number === undefined || !rules.isPortAllowed(number)) {
      callback(new SendError('blocked', `port ${String(number)} is not allowed for push`), null);
    } else if (isIP(hostname) !== 0 && !rules.addresses.allows(hostname)) {
      callback(blocked(hostname), null);
    } else {
      connect(options, callback);
    }
  };
}

async function allowedAddresses(
  name: string,
  { names, addresses }: ConnectionRules,
): Promise<readonly NamedAddress[]> {
  const found = await names.addressesOf(name);
  // One that is refused refuses all: an answer with a public and a private address is an attack or a mistake.
  if (found.some(({ address }) => !addresses.allows(address))) throw blocked(name);
  return found;
}

/** Does not name the address: a client that may name URLs must not learn the addresses of internal names. */
function blocked(host: string): SendError {
  return new SendError('blocked', `${host} is no address that push may connect to`);
}
