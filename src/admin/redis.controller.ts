import { Controller, Get, HttpCode, Param, Post } from '@nestjs/common';
import { DATA_FORMAT } from '../domain/data-format.js';
import { QueueError } from '../domain/errors.js';
import { OlderServersError } from '../redis/format.js';
import { parseInfo } from '../redis/parse-info.js';
import type { RedisPool } from '../redis/pool.js';
import { PoolRegistry } from '../redis/redis.module.js';
import { Audit } from './audit/audit.js';
import { Account } from './parameters.js';
import { PoolPipe } from './pipes.js';

/** Round trips of which the latency is measured. */
const PINGS = 11;

/** The Redis of each pool as `pumphouse doctor` checks it; lmstfy has no such call. */
@Controller('redis')
export class RedisController {
  constructor(private readonly pools: PoolRegistry) {}

  /** In a Cluster the facts are those of the node that answers. */
  @Get()
  async redis(): Promise<object> {
    const pools = this.pools.all().sort((a, b) => (a.name < b.name ? -1 : 1));
    return { now: new Date().toISOString(), pools: await Promise.all(pools.map(viewOf)) };
  }
}

/** The data formats of the pools; lmstfy has no such call. */
@Controller('formats')
export class FormatsController {
  constructor(
    private readonly pools: PoolRegistry,
    private readonly audit: Audit,
  ) {}

  @Get()
  list(): object {
    return { newest: DATA_FORMAT, pools: this.pools.all().map(formatOf) };
  }

  /** Raises the data format of a pool to the newest one, for good: servers of older versions do not start on it any more. */
  @Post(':pool')
  @HttpCode(200)
  async raise(
    @Account() account: string | undefined,
    @Param('pool', PoolPipe) name: string,
  ): Promise<object> {
    const pool = this.pools.all().find((one) => one.name === name);
    if (!pool) throw new QueueError('pool_not_found', 'pool not found');
    try {
      await pool.raiseFormat();
    } catch (error) {
      if (!(error instanceof OlderServersError)) throw error;
      throw new QueueError('older_servers', error.message, { cause: error });
    }
    this.audit.recordPool('pool.format', account, name, { format: pool.format });
    return formatOf(pool);
  }
}

function formatOf({ name, format }: RedisPool): object {
  return { pool: name, format };
}

async function viewOf(pool: RedisPool): Promise<object> {
  const { name, status } = pool;
  try {
    const facts = { ...factsOf(parseInfo(await pool.info())), appendfsync: await appendfsync(pool) };
    return { pool: name, ...status, error: null, facts: { ...facts, ...(await timesOf(pool)) } };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { pool: name, up: false, degraded: status.degraded, error: message, facts: null };
  }
}

function factsOf(info: ReadonlyMap<string, string>): object {
  const text = (field: string): string | null => info.get(field) ?? null;
  const whole = (field: string): number | null => (info.has(field) ? Number(info.get(field)) : null);
  return {
    version: text('redis_version'),
    mode: text('redis_mode'),
    role: text('role'),
    used_memory: whole('used_memory'),
    maxmemory: whole('maxmemory'),
    maxmemory_policy: text('maxmemory_policy'),
    aof_enabled: text('aof_enabled') === '1',
    aof_last_write_status: text('aof_last_write_status'),
    aof_last_bgrewrite_status: text('aof_last_bgrewrite_status'),
    connected_clients: whole('connected_clients'),
    maxclients: whole('maxclients'),
    connected_slaves: whole('connected_slaves'),
  };
}

/** Null where the server's user may not read the configuration. */
async function appendfsync(pool: RedisPool): Promise<string | null> {
  const answer = await pool.read('CONFIG', 'GET', 'appendfsync').catch(() => null);
  return Array.isArray(answer) && typeof answer[1] === 'string' ? answer[1] : null;
}

/** The median and the longest of some round trips, and how far Redis's clock is ahead of this server's. */
async function timesOf(pool: RedisPool): Promise<object> {
  const tripsMs: number[] = [];
  for (let i = 0; i < PINGS; i++) {
    const begunMs = performance.now();
    await pool.read('PING');
    tripsMs.push(performance.now() - begunMs);
  }
  tripsMs.sort((a, b) => a - b);
  const beforeMs = Date.now();
  const [seconds, micros] = (await pool.read('TIME')) as [string, string];
  const hereMs = (beforeMs + Date.now()) / 2;
  return {
    latency_ms: rounded(tripsMs[(PINGS - 1) / 2] ?? 0),
    max_latency_ms: rounded(tripsMs.at(-1) ?? 0),
    clock_offset_ms: Math.round(Number(seconds) * 1_000 + Number(micros) / 1_000 - hereMs),
  };
}

function rounded(ms: number): number {
  return Math.round(ms * 100) / 100;
}
