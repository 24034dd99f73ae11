import { Agent as HttpAgent, type AgentOptions } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import type { Duplex } from 'node:stream';
import type { AddressRules } from './address-rules.js';
import type { NamedAddress, Names } from './names.js';
import { SendError } from './send-error.js';

/** What decides whether a connection may be made. */
export interface ConnectionRules {
  readonly addresses: AddressRules;
  readonly isPortAllowed: (port: number) => boolean;
  /** Whether requests may be sent in plain text: a target may have been set while they were allowed. */
  readonly isHttpAllowed: boolean;
  readonly names: Names;
}

/** Where a connection leads. */
export interface Peer {
  /** A name, or an address without brackets. */
  readonly host: string;
  readonly port: number;
}

/** Time limit of a connection with its TLS handshake, in milliseconds; the deadline of the request may be earlier. */
const CONNECT_MS = 10_000;
/** How long a connection is used again after its name was looked up, in milliseconds. */
const CONNECTION_AGE_MS = 60_000;
/** How long it may be idle. */
const IDLE_MS = 10_000;

/** The connections of one scheme: made under the rules, kept when a request has ended, and used again. */
export class Connections {
  readonly agent: HttpAgent;
  private readonly madeAtMs = new WeakMap<Duplex, number>();

  constructor(
    private readonly scheme: 'http:' | 'https:',
    private readonly rules: ConnectionRules,
    maxPerOrigin: number,
  ) {
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
    const options: AgentOptions & { lookup: LookupFunction; autoSelectFamily: boolean } = {
      ...{ keepAlive: true, timeout: IDLE_MS, lookup, autoSelectFamily: true },
      ...{ maxSockets: maxPerOrigin, maxFreeSockets: maxPerOrigin },
    };
    this.agent = scheme === 'https:' ? new HttpsAgent(options) : new HttpAgent(options);
    this.guardConnections();
    this.limitReuse();
  }

  /** Closes the idle connections to one place: the next request there gets a new one. */
  closeIdle(peer: Peer): void {
    const { agent } = this;
    const idle = agent.freeSockets[agent.getName(peer)] ?? [];
    for (const socket of [...idle]) socket.destroy();
  }

  /** Also those with a request under way. */
  close(): void {
    this.agent.destroy();
  }

  /**
   * Connects only to addresses that the rules allow; checked for each new connection. A name is looked up once, every
   * address of it must be allowed, and the socket is given those addresses: it asks no other resolver. Literal addresses are checked
   * here, because Node.js never calls `lookup` for them.
   */
  private guardConnections(): void {
    const { agent } = this;
    const connect = agent.createConnection.bind(agent);
    agent.createConnection = (options, done) => {
      const peer = { host: String(options.host), port: Number(options.port) };
      const refused = this.refusalOf(peer);
      if (refused) {
        // There is no connection, though the type wants one.
        (done as ((error: Error) => void) | undefined)?.(refused);
        return undefined;
      }
      const socket = connect(options);
      if (socket) this.limitTime(socket, peer);
      return socket;
    };
  }

  private refusalOf({ host, port }: Peer): SendError | null {
    // guard: plain-text-is-refused-when-sent
    if (this.scheme === 'http:' && !this.rules.isHttpAllowed) {
      return new SendError('blocked', 'http:// needs push.allow_http of this server');
    }
    if (!this.rules.isPortAllowed(port)) {
      return new SendError('blocked', `port ${String(port)} is not in push.ports of this server`);
    }
    return /* guard: literal-addresses-are-checked */ isIP(host) !== 0 && !this.rules.addresses.allows(host)
      ? blocked(host)
      : null;
  }

  private limitTime(socket: Duplex, { host }: Peer): void {
    this.madeAtMs.set(socket, performance.now());
    const timer = setTimeout(
      () => socket.destroy(new SendError('timeout', `no connection to ${host} in time`)),
      CONNECT_MS,
    );
    // Node.js has no listener for a moment between two requests.
    socket.on('error', () => undefined);
    const isMade = this.agent instanceof HttpsAgent ? 'secureConnect' : 'connect';
    for (const event of [isMade, 'close']) socket.once(event, () => clearTimeout(timer));
  }

  private limitReuse(): void {
    const { agent } = this;
    // The type says that it returns nothing.
    const keep = agent.keepSocketAlive.bind(agent) as unknown as (socket: Duplex) => boolean;
    const reuse = agent.reuseSocket.bind(agent);
    agent.keepSocketAlive = (socket) => {
      if (performance.now() - (this.madeAtMs.get(socket) ?? 0) > CONNECTION_AGE_MS) return false;
      // What comes now would be read as the answer to the next request.
      // guard: push-closes-talking-connection
      socket.on('data', closeConnection);
      return keep(socket);
    };
    agent.reuseSocket = (socket, request) => {
      socket.off('data', closeConnection);
      reuse(socket, request);
    };
  }
}

function closeConnection(this: Duplex): void {
  this.destroy();
}

async function allowedAddresses(
  name: string,
  { names, addresses }: ConnectionRules,
): Promise<readonly NamedAddress[]> {
  const found = await names.addressesOf(name);
  // One that is refused refuses all: an answer with a public and a private address is an attack or a mistake.
  if (/* guard: every-address-is-checked */ found.some(({ address }) => !addresses.allows(address)))
    throw blocked(name);
  return found;
}

/** Does not name the address: a client that may name URLs must not learn the addresses of internal names. */
function blocked(host: string): SendError {
  return new SendError('blocked', `${host} is no public address, and not in push.allow of this server`);
}
