import { Allow } from './class-validator.js';
import { DURABILITY, DURABILITY_RULE, type Durability } from '../domain/durability.js';
import {
  MAX_CONFIGURABLE_BYTES,
  MAX_HISTORY_DAYS,
  MAX_IDEMPOTENCY_TTL_S,
  MAX_QUOTA_BYTES,
  MAX_TRIES,
  MAX_UINT32,
} from '../domain/limits.js';
import { EMBEDDED, parseAddress } from './addresses.js';
import {
  Flag,
  NamedSections,
  NamedTexts,
  OneOf,
  Optional,
  RedisUrl,
  Section,
  Text,
  TextList,
  WholeNumber,
} from './keys.js';

/*
 * The configuration. Initial values are the defaults; config/default.toml says of every key what it is for, in which unit, and
 * why its default is what it is. A test holds the two together. Times and sizes carry their unit in the name.
 */

const MAX_PORT = 65_535;
const HOUR_MS = 3_600_000;
/** More of anything is no bound. */
const MILLION = 1_000_000;
/** As long as DNS lets a name be. Whether there is such an address shows when it is listened on. */
const HOST = /^[^\s/@[\]]{1,253}$/;
const HOST_MESSAGE = 'must be a host name or an IP address, without brackets';
/** A curly bracket would move the hash tag, and with it every key, to another slot of a Cluster. */
const KEY_PREFIX = /^[-_.:A-Za-z0-9]{0,64}$/;
const POOL_NAME = /^[-_A-Za-z0-9]+$/;
/** Basic authentication puts a colon between name and password. */
const ACCOUNT_NAME = /^[^:\s]+$/;
const ADDRESS_LIST = 'must be a list of "host:port", at least one';
/** Only whether it can be read counts here, not the port. */
const isAddress = (text: string): boolean => parseAddress(text, 1) !== null;

const FSYNC_POLICIES = ['everysec', 'always'] as const;
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export const LOG_FORMATS = ['auto', 'json', 'pretty'] as const;

/** A listener's files for TLS; without them it speaks plain HTTP. */
export class TlsListenerConfig {
  @Optional() @Text() tls_cert?: string;
  @Optional() @Text() tls_key?: string;
  @Optional() @Text() tls_client_ca?: string;
}

/** The port of the API. */
export class ServerConfig extends TlsListenerConfig {
  @Text(HOST_MESSAGE, HOST) host = '0.0.0.0';
  @WholeNumber(0, MAX_PORT) port = 7777;
  @WholeNumber(1, 512) workers = 1;
  @WholeNumber(0, HOUR_MS) drain_ms = 8_000;
  @WholeNumber(0, HOUR_MS) ready_lag_ms = 500;
  @WholeNumber(1, HOUR_MS) keep_alive_ms = 120_000;
  @WholeNumber(1_024, 1_048_576) max_header_bytes = 147_456;
  @WholeNumber(256, 1_048_576) max_url_bytes = 131_072;
  @WholeNumber(100, HOUR_MS) header_timeout_ms = 20_000;
  @WholeNumber(100, HOUR_MS) request_timeout_ms = 60_000;
  @WholeNumber(100, HOUR_MS) answer_timeout_ms = 60_000;
  @WholeNumber(1, MILLION) max_connections = 50_000;
  @WholeNumber(2, MILLION) max_in_flight = 20_000;
  @WholeNumber(1_024, MAX_QUOTA_BYTES) max_body_bytes_in_flight = 268_435_456;
}

/** The port of the operators. */
export class AdminConfig extends TlsListenerConfig {
  @Text(HOST_MESSAGE, HOST) host = '127.0.0.1';
  @WholeNumber(0, MAX_PORT) port = 7778;
  /** Password by account name. */
  @NamedTexts('must be passwords by account name, neither empty; no colons in names', ACCOUNT_NAME)
  accounts: Record<string, string> = {};
}

/** Where a Redis is and how to get in: exactly one of `url`, `sentinels` (with `master_name`) or `cluster`. */
export class RedisTarget {
  @Optional() @RedisUrl(EMBEDDED) url?: string;
  @Optional() @TextList(ADDRESS_LIST, isAddress) sentinels?: string[];
  @Optional() @Text() master_name?: string;
  @Optional() @Text() sentinel_password?: string;
  @Optional() @TextList(ADDRESS_LIST, isAddress) cluster?: string[];
  @Optional() @Text() username?: string;
  @Optional() @Text() password?: string;
  @Optional() @WholeNumber(0, MAX_PORT) db?: number;
  @Optional() @Text() tls_ca?: string;
  @Optional() @Text() tls_cert?: string;
  @Optional() @Text() tls_key?: string;
  @Flag() allow_unsafe = false;
}

/** A Redis deployment that holds queues. */
export class PoolConfig extends RedisTarget {
  /** How safe a job is before its publish is answered, unless the publish says so itself. */
  @Text(DURABILITY_RULE, DURABILITY) durability: Durability = 'memory';
  /** The pool that this one moves to. */
  @Optional() @Text() migrate_to?: string;
}

/** The Redis of the tokens; the default pool's if nothing is set. */
export class TokensConfig extends RedisTarget {}

/** What the embedded Redis leaves on this machine. */
export class DataConfig {
  @Text() dir = 'data';
  @OneOf(FSYNC_POLICIES) appendfsync: (typeof FSYNC_POLICIES)[number] = 'everysec';
}

/** What one request may carry, how many may wait, and what a namespace may hold. */
export class LimitsConfig {
  @WholeNumber(1, MAX_CONFIGURABLE_BYTES) max_body_bytes = 65_535;
  @WholeNumber(1, MAX_CONFIGURABLE_BYTES) max_bulk_bytes = 8_388_608;
  @WholeNumber(1, MAX_IDEMPOTENCY_TTL_S) idempotency_ttl_s = 86_400;
  @WholeNumber(0, MAX_UINT32) max_queues_per_namespace = 0;
  @WholeNumber(0, MAX_UINT32) max_jobs_per_queue = 0;
  @WholeNumber(0, MAX_QUOTA_BYTES) max_bytes_per_namespace = 0;
  @WholeNumber(1, MILLION) max_waiters = 30_000;
  @WholeNumber(1, MILLION) max_waiters_per_token = 15_000;
}

/** Streams of events. */
export class EventsConfig {
  @WholeNumber(0, MILLION) max_streams = 1_000;
  @WholeNumber(0, MILLION) max_streams_per_token = 100;
  @WholeNumber(100, HOUR_MS) heartbeat_ms = 15_000;
  @WholeNumber(1_024, MAX_CONFIGURABLE_BYTES) max_buffer_bytes = 262_144;
  @WholeNumber(1_000, HOUR_MS) keep_ms = 15_000;
  @WholeNumber(1_000, MILLION) max_kept = 10_000;
}

/** How every Redis is used. */
export class RedisConfig {
  @WholeNumber(50, 60_000) command_timeout_ms = 2_000;
  @WholeNumber(1, 60_000) wait_timeout_ms = 500;
  @Text('must be at most 64 letters, digits, or -_.:', KEY_PREFIX) key_prefix = '';
}

/** Habits of the lmstfy API that may be chosen. */
export class LmstfyConfig {
  @Flag() public_sizes = false;
  @WholeNumber(0, MAX_UINT32) default_delay_s = 0;
  @WholeNumber(0, MAX_UINT32) default_ttl_s = 86_400;
  @WholeNumber(1, MAX_TRIES) default_tries = 1;
  @WholeNumber(0, MAX_UINT32) default_ttr_s = 120;
  @WholeNumber(0, MAX_UINT32) default_timeout_s = 0;
}

/** What `/metrics` shows, and to whom. */
export class MetricsConfig {
  @WholeNumber(0, 100_000) max_queues = 200;
  @Flag() public = false;
}

/** What is remembered of jobs that are over, in numbers. */
export class StatsConfig {
  @WholeNumber(0, MAX_HISTORY_DAYS) history_days = 30;
  @WholeNumber(1, 100_000) max_queues = 1_000;
}

/** What is written to standard output. */
export class LogConfig {
  @OneOf(LOG_LEVELS) level: (typeof LOG_LEVELS)[number] = 'info';
  @OneOf(LOG_FORMATS) format: (typeof LOG_FORMATS)[number] = 'auto';
  @Flag() access = false;
}

/** The whole configuration of a server: injected by this class. */
export class Config {
  @Section(ServerConfig) server = new ServerConfig();
  @Section(AdminConfig) admin = new AdminConfig();
  @NamedSections(PoolConfig, 'must be sections with names of letters, digits, - and _', POOL_NAME)
  pools: Record<string, PoolConfig> = { default: embeddedPool() };
  @Section(TokensConfig) tokens = new TokensConfig();
  @Section(DataConfig) data = new DataConfig();
  @Section(LimitsConfig) limits = new LimitsConfig();
  @Section(EventsConfig) events = new EventsConfig();
  @Section(RedisConfig) redis = new RedisConfig();
  @Section(LmstfyConfig) lmstfy = new LmstfyConfig();
  @Section(MetricsConfig) metrics = new MetricsConfig();
  @Section(StatsConfig) stats = new StatsConfig();
  @Section(LogConfig) log = new LogConfig();
  /** What is not wrong, and yet worth a line at start. No key: loading fills it. */
  @Allow() readonly warnings: string[] = [];
}

function embeddedPool(): PoolConfig {
  return Object.assign(new PoolConfig(), { url: EMBEDDED });
}
