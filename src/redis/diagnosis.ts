import { performance } from 'node:perf_hooks';
import type { Redis } from 'ioredis';
import type { NodeAddress, PoolOptions } from '../domain/pool.js';
import { createProbe, isTls } from './connect.js';
import { reachedAt, textOfAddress } from './nat.js';
import { speechAt, unreachable } from './reach.js';

/** Why the connection to a pool does not become ready. */
export interface Diagnosis {
  /** For people: the reason and the remedy. */
  readonly reason: string;
  /** True if a person must change something: to wait does not help. */
  readonly isFinal: boolean;
}

const REDIS_PORT = 6379;
/** Nodes that one message names at most. */
const MAX_NAMED = 6;

/** After this time without a connection its cause is looked for, and again in such steps, in milliseconds. */
const STEP_MS = 300;

/** Looks for the cause in the background, while a connection does not become ready. */
export class Cause {
  private found: Diagnosis | null = null;
  private isLooking = false;
  private nextMs = performance.now() + STEP_MS;

  constructor(private readonly options: PoolOptions) {}

  /** What was found so far. Looks again if it is time for it. */
  find(): Diagnosis | null {
    if (!this.isLooking && performance.now() >= this.nextMs) void this.findAgain();
    return this.found;
  }

  private async findAgain(): Promise<void> {
    this.isLooking = true;
    this.found = await diagnose(this.options);
    this.isLooking = false;
    this.nextMs = performance.now() + STEP_MS;
  }
}

/** Looks for what the errors of the driver do not tell: the wrong protocol, and addresses of a Cluster that cannot be reached. */
export async function diagnose(options: PoolOptions): Promise<Diagnosis | null> {
  return (await diagnoseSpeech(options)) ?? (await diagnoseCluster(options));
}

async function diagnoseSpeech(options: PoolOptions): Promise<Diagnosis | null> {
  const all = await Promise.all(
    addressesOf(options).map(async (address) => ({
      at: textOfAddress(address),
      speech: await speechAt(address),
    })),
  );
  const answering = all.filter(({ speech }) => speech !== 'none');
  const [first] = answering;
  const right = isTls(options) ? 'tls' : 'redis';
  if (first === undefined || answering.some(({ speech }) => speech === right)) return null;
  return { reason: wrongSpeech(first.at, first.speech === 'other', options), isFinal: true };
}

function wrongSpeech(at: string, isOther: boolean, options: PoolOptions): string {
  if (isOther) return `what listens on ${at} is no Redis: check host and port`;
  const isUrl = options.url !== undefined;
  if (isTls(options)) {
    const remedy = isUrl ? 'use redis:// in the place of rediss://' : 'remove tls_ca, tls_cert and tls_key';
    return `${at} does not speak TLS: ${remedy}, or name its TLS port`;
  }
  const remedy = isUrl ? 'use rediss:// in the place of redis://' : 'set tls_ca (or tls_cert and tls_key)';
  return `${at} speaks TLS: ${remedy}`;
}

/** The addresses of the settings. */
function addressesOf({ url, sentinels, clusterNodes }: PoolOptions): readonly NodeAddress[] {
  if (url === undefined) return sentinels ?? clusterNodes ?? [];
  const { hostname, port } = new URL(url);
  return [{ host: hostname.replace(/^\[(.*)\]$/, '$1'), port: port === '' ? REDIS_PORT : Number(port) }];
}

/** What one node of a Cluster says of it. */
interface View {
  readonly at: NodeAddress;
  /** The address that it announces for itself; undefined if it is not known. */
  readonly own: NodeAddress | undefined;
  readonly masters: readonly NodeAddress[];
}

async function diagnoseCluster(options: PoolOptions): Promise<Diagnosis | null> {
  const { clusterNodes = [] } = options;
  const views = (await Promise.all(clusterNodes.map((at) => viewOf(at, options)))).filter(
    (view) => view !== null,
  );
  if (views.length === 0) return null;
  const owner = new Map(views.flatMap(({ at, own }) => (own ? [[textOfAddress(own), at] as const] : [])));
  const masters = new Map(
    views.flatMap((view) => view.masters.map((one) => [textOfAddress(one), one] as const)),
  );
  if (masters.size === 0)
    return { reason: 'the nodes have no slots yet: create the Cluster first', isFinal: false };
  const found = await Promise.all(
    [...masters].map(async ([text, announced]) => {
      const place = reachedAt(announced, options);
      const code = announced.host === '' ? 'no address' : await unreachable(place);
      if (code === null) return null;
      const by = owner.get(text);
      const mapped = place === announced ? '' : `, mapped to ${textOfAddress(place)}`;
      const whose = by ? `announced by ${textOfAddress(by)}` : 'of another node';
      return {
        text: `${text} (${whose}${mapped}: ${code})`,
        // The node has answered, but not there.
        isMistaken: by !== undefined && textOfAddress(by) !== textOfAddress(place),
      };
    }),
  );
  const lost = found.filter((one) => one !== null);
  if (lost.length === 0) return null;
  const named = lost.map(({ text }) => text).sort();
  const more = named.length > MAX_NAMED ? ` and ${named.length - MAX_NAMED} more` : '';
  const reason =
    `addresses that nodes of the Cluster announce cannot be reached: ${named.slice(0, MAX_NAMED).join(', ')}${more}; ` +
    'set cluster-announce-ip and cluster-announce-port of the nodes, or nat_map of the pool';
  return { reason, isFinal: lost.length === masters.size && lost.some(({ isMistaken }) => isMistaken) };
}

/** @returns null if the node cannot be asked */
async function viewOf(at: NodeAddress, options: PoolOptions): Promise<View | null> {
  const node = createProbe(options, at);
  try {
    await node.connect();
    const [id, slots] = await Promise.all([idOf(node), node.cluster('SLOTS')]);
    const ranges = (slots as unknown as readonly (readonly unknown[])[]).map((range) =>
      range.slice(2).map(announcedBy),
    );
    const own = ranges.flat().find((one) => one.id === id);
    return { at, own: own?.address, masters: ranges.flatMap(([master]) => (master ? [master.address] : [])) };
  } catch {
    return null;
  } finally {
    node.disconnect();
  }
}

async function idOf(node: Redis): Promise<string | undefined> {
  return node.cluster('MYID').then(String, () => undefined);
}

/** @param node as in the reply of CLUSTER SLOTS: host, port, id */
function announcedBy(node: unknown): { readonly address: NodeAddress; readonly id: string } {
  const [host, port, id] = Array.isArray(node) ? (node as unknown[]) : [];
  return { address: { host: typeof host === 'string' ? host : '', port: Number(port) }, id: String(id) };
}
