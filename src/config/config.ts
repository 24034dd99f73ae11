import { Allow } from 'class-validator';
import { DURABILITY, DURABILITY_RULE, type Durability } from '../domain/durability.js';
import {
  MAX_CONFIGURABLE_BYTES,
  MAX_JSON_DEPTH,
  MAX_HISTORY_DAYS,
  MAX_IDEMPOTENCY_TTL_S,
  MAX_QUOTA_BYTES,
  MAX_TRIES,
  MAX_UINT32,
} from '../domain/limits.js';
import { parsePasswordHash, PASSWORD_HASH_RULE } from '../domain/password-hash.js';
import { ROLES, type Role } from '../domain/roles.js';
import {
  EMBEDDED,
  isAddressRange,
  isOrigin,
  isPortRange,
  isSafeUrl,
  isWebOrigin,
  parseAddress,
  parseMapping,
} from './addresses.js';
import {
  Flag,
  NamedSections,
  NamedTextsOrSections,
  OneOf,
  Optional,
  RedisUrl,
  Section,
  Text,
  TextList,
  WholeNumber,
} from './keys.js';

/*
 * The configuration. Initial values are the defaults; config/default.toml explains each key, its unit, and the reason
 * for its default. A test compares the two. Times and sizes have their unit in the name.
 */

const MAX_PORT = 65_535;
const HOUR_MS = 3_600_000;
/** Less has no room for the last hour. */
const MIN_HISTORY_BYTES = 8_388_608;
/** Higher limits have no practical effect. */
const MILLION = 1_000_000;
/** As long as DNS permits. Whether the address exists shows when the server listens on it. */
const HOST = /^[^\s/@[\]]{1,253}$/;
const HOST_MESSAGE = 'must be a host name or an IP address, without brackets';
/** Ports are not compared. */
const HOST_NAMES = 'must be a list of host names, without ports';
const isHostName = (text: string): boolean => HOST.test(text) && !text.includes(':');
/** Compared character by character with what browsers send. */
const ORIGINS =
  'must be a list of origins as browsers send them, such as "https://app.example.com" (lower case, no path, no default port), or ["*"]';
/** A curly bracket would change the hash tag, and with it the Cluster slot of every key. */
const KEY_PREFIX = /^[-_.:A-Za-z0-9]{0,64}$/;
const PUBLIC_URL = /^https?:\/\/[^\s?#@]+$/;
const PUBLIC_URL_MESSAGE = 'must be a URL such as "https://queue.example", without a password, ? or #';
const POOL_NAME = /^[-_A-Za-z0-9]+$/;
/** Basic authentication separates name and password with a colon. */
const ACCOUNT_NAME = /^[^:\s]+$/;
const PASSWORD_HASH = { test: (text: string): boolean => parsePasswordHash(text) !== null };
const NAMESPACE_PATTERNS =
  'must be a non-empty list of names of namespaces; * in a name matches any characters';
const isNamespacePattern = (text: string): boolean => /^[-_*A-Za-z0-9]{1,255}$/.test(text);
const ISSUER_MESSAGE =
  'must be an https:// URL without ? and #, as the provider spells it; http:// only for a loopback address';
const isIssuer = (text: string): boolean => !/[\s?#@]/.test(text) && isSafeUrl(text);
const SCOPES = 'must be a non-empty list of scopes, without spaces';
const isScope = (text: string): boolean => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(text);
/** Names of queues and namespaces are parts of Redis keys. */
const QUEUE_NAME = /^[-A-Za-z0-9][-_A-Za-z0-9]{0,254}$/;
const NAME_MESSAGE = 'must be 1 to 255 letters, digits, - and _, not beginning with _';
const CALLBACK_ORIGINS =
  'must be a list of origins such as "https://app.example.com" or "http://10.2.0.7:8080" (lower case, no path, no default port)';
const ADDRESS_LIST = 'must be a non-empty list of "host:port"';
/** Checks only that it can be parsed; the port does not matter. */
const isAddress = (text: string): boolean => parseAddress(text, 1) !== null;
const MAPPINGS = 'must be a non-empty list of "announced host:port=reachable host:port"';
const isMapping = (text: string): boolean => parseMapping(text, 1) !== null;

const FSYNC_POLICIES = ['everysec', 'always'] as const;
export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export const LOG_FORMATS = ['auto', 'json', 'pretty'] as const;

/** TLS files of a listener; without them it uses plain HTTP. */
export class TlsListenerConfig {
  @Optional() @Text() tls_cert?: string;
  @Optional() @Text() tls_key?: string;
  @Optional() @Text() tls_client_ca?: string;
}

/** The port of the queue APIs. */
export class ServerConfig extends TlsListenerConfig {
  @Text(HOST_MESSAGE, HOST) host = '0.0.0.0';
  @WholeNumber(0, MAX_PORT) port = 7777;
  @WholeNumber(1, 512) workers = 1;
  /** Where clients outside reach the API port. */
  @Optional() @Text(PUBLIC_URL_MESSAGE, PUBLIC_URL) public_url?: string;
  /** Origins of web pages that may call the native API; `*` is every origin. */
  @TextList(ORIGINS, isOrigin, 0) cors_origins: string[] = [];
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

/** What an account of the admin port may do. */
export class RoleConfig {
  @OneOf(ROLES) role: Role | '' = '';
  /** Patterns of the namespaces that it sees; left out = all. */
  @Optional() @TextList(NAMESPACE_PATTERNS, isNamespacePattern) namespaces?: string[];
}

/** An account of the admin port with a hashed password and a role. */
export class AccountConfig extends RoleConfig {
  @Text(PASSWORD_HASH_RULE, PASSWORD_HASH) password_hash = '';
}

/** Sign-in to the admin port by OpenID Connect; off without an issuer. */
export class OidcConfig {
  /** As its discovery document spells it. */
  @Optional() @Text(ISSUER_MESSAGE, { test: isIssuer }) issuer?: string;
  @Optional() @Text() client_id?: string;
  @Optional() @Text() client_secret_file?: string;
  /** What the button of the sign-in page calls it. */
  @Text('must be 1 to 40 characters', /^[^\p{C}]{1,40}$/u) name = 'single sign-on';
  @TextList(SCOPES, isScope) scopes: string[] = ['openid', 'profile', 'email', 'offline_access'];
  @Text() groups_claim = 'groups';
  @Text() account_claim = 'sub';
  /** By name of a group; a text is a role for all namespaces. */
  @NamedTextsOrSections(
    RoleConfig,
    'must be roles or sections by name of a group, neither empty; no control characters in names',
    /^[^\p{C}]+$/u,
  )
  groups: Record<string, string | RoleConfig> = {};
}

/** The admin port. */
export class AdminConfig extends TlsListenerConfig {
  @Text(HOST_MESSAGE, HOST) host = '127.0.0.1';
  @WholeNumber(0, MAX_PORT) port = 7778;
  /** Where browsers reach the admin port, if not at its address: behind a proxy. */
  @Optional() @Text(PUBLIC_URL_MESSAGE, PUBLIC_URL) public_url?: string;
  /** How long the audit log keeps an entry, and how many at most. */
  @WholeNumber(1, 3_650) audit_days = 90;
  @WholeNumber(100, MILLION) audit_max = 10_000;
  /** Names of this server in the `Host` header, in addition to its own. */
  @TextList(HOST_NAMES, isHostName, 0) hosts: string[] = [];
  /** By account name; a text is the password of an account that may do everything. */
  @NamedTextsOrSections(
    AccountConfig,
    'must be passwords or sections by account name, neither empty; no colons in names',
    ACCOUNT_NAME,
  )
  accounts: Record<string, string | AccountConfig> = {};
  @Section(OidcConfig) oidc = new OidcConfig();
}

/** Address and credentials of a Redis: exactly one of `url`, `sentinels` (with `master_name`) or `cluster`. */
export class RedisTarget {
  @Optional() @RedisUrl(EMBEDDED) url?: string;
  @Optional() @TextList(ADDRESS_LIST, isAddress) sentinels?: string[];
  @Optional() @Text() master_name?: string;
  @Optional() @Text() sentinel_password?: string;
  @Optional() @TextList(ADDRESS_LIST, isAddress) cluster?: string[];
  /** Where this server reaches nodes that announce an address which is good only elsewhere. */
  @Optional() @TextList(MAPPINGS, isMapping) nat_map?: string[];
  @Optional() @Text() username?: string;
  @Optional() @Text() password?: string;
  @Optional() @WholeNumber(0, MAX_PORT) db?: number;
  @Optional() @Text() tls_ca?: string;
  @Optional() @Text() tls_cert?: string;
  @Optional() @Text() tls_key?: string;
  @Flag() allow_unsafe = false;
}

/** A Redis deployment for queues. */
export class PoolConfig extends RedisTarget {
  /** Durability of a publish that does not set its own. */
  @Text(DURABILITY_RULE, DURABILITY) durability: Durability = 'memory';
  /** The pool to which this one migrates. */
  @Optional() @Text() migrate_to?: string;
}

/** The Redis of the tokens; the default pool's if nothing is set. */
export class TokensConfig extends RedisTarget {}

/** Data of the embedded Redis on this machine. */
export class DataConfig {
  @Text() dir = 'data';
  @OneOf(FSYNC_POLICIES) appendfsync: (typeof FSYNC_POLICIES)[number] = 'always';
  @WholeNumber(0, MAX_QUOTA_BYTES) max_memory_bytes = 0;
}

/** Limits of requests, waiting long polls, and namespaces. */
export class LimitsConfig {
  @WholeNumber(1, MAX_CONFIGURABLE_BYTES) max_body_bytes = 65_535;
  @WholeNumber(1, MAX_CONFIGURABLE_BYTES) max_bulk_bytes = 8_388_608;
  @WholeNumber(1, MAX_JSON_DEPTH) max_json_depth = 64;
  @WholeNumber(1, MAX_IDEMPOTENCY_TTL_S) idempotency_ttl_s = 86_400;
  @WholeNumber(0, MAX_UINT32) max_queues_per_namespace = 0;
  @WholeNumber(0, MAX_UINT32) max_jobs_per_queue = 0;
  @WholeNumber(0, MAX_QUOTA_BYTES) max_bytes_per_namespace = 0;
  @WholeNumber(0, MAX_UINT32) max_workers_per_namespace = 10_000;
  @WholeNumber(0, MAX_UINT32) max_keys_per_namespace = 10_000_000;
  @WholeNumber(1, MILLION) max_waiters = 30_000;
  @WholeNumber(1, MILLION) max_waiters_per_token = 15_000;
}

/** Event streams. */
export class EventsConfig {
  @WholeNumber(0, MILLION) max_streams = 1_000;
  @WholeNumber(0, MILLION) max_streams_per_token = 100;
  @WholeNumber(100, HOUR_MS) heartbeat_ms = 15_000;
  @WholeNumber(1_024, MAX_CONFIGURABLE_BYTES) max_buffer_bytes = 262_144;
  @WholeNumber(1_000, HOUR_MS) keep_ms = 15_000;
  @WholeNumber(1_000, MILLION) max_kept = 10_000;
}

/** Settings for every Redis. */
export class RedisConfig {
  @WholeNumber(50, 60_000) command_timeout_ms = 2_000;
  @WholeNumber(1, 60_000) wait_timeout_ms = 500;
  @Text('must be at most 64 letters, digits, or -_.:', KEY_PREFIX) key_prefix = '';
}

/** Configurable behaviour of the lmstfy API. */
export class LmstfyConfig {
  @Flag() public_sizes = false;
  @WholeNumber(0, MAX_UINT32) default_delay_s = 0;
  @WholeNumber(0, MAX_UINT32) default_ttl_s = 86_400;
  @WholeNumber(1, MAX_TRIES) default_tries = 1;
  @WholeNumber(0, MAX_UINT32) default_ttr_s = 120;
  @WholeNumber(0, MAX_UINT32) default_timeout_s = 0;
}

/** Content and access of `/metrics`. */
export class MetricsConfig {
  @WholeNumber(0, 100_000) max_queues = 200;
  @Flag() lmstfy_names = true;
  @Flag() public = false;
}

/** Statistics of past jobs. */
export class StatsConfig {
  @WholeNumber(0, MAX_HISTORY_DAYS) history_days = 30;
  @WholeNumber(1, 100_000) max_queues = 1_000;
}

/** The history of queues, for the console. */
export class HistoryConfig {
  @Flag() enabled = true;
  @WholeNumber(MIN_HISTORY_BYTES, MAX_QUOTA_BYTES) max_bytes = 67_108_864;
}

/** HTTP push. */
export class PushConfig {
  @Flag() enabled = false;
  @TextList('must be a list of addresses or ranges such as "10.2.0.0/16"', isAddressRange, 0)
  allow: string[] = [];
  @TextList('must be a non-empty list of ports or ranges such as "8000-8999"', isPortRange) ports: string[] =
    ['80', '443', '8080', '8443'];
  @Flag() allow_http = false;
  @WholeNumber(1, 65_536) max_in_flight = 256;
  /** 32 random bytes in base64: encrypts secrets and headers of targets in Redis. */
  @Optional() @Text() key_file?: string;
}

/** later's API. */
export class LaterConfig {
  /** Unset: there is no such API. */
  @Optional() @WholeNumber(0, MAX_PORT) port?: number;
  @Text(HOST_MESSAGE, HOST) host = '127.0.0.1';
  @Text(NAME_MESSAGE, QUEUE_NAME) namespace = 'later';
  @Text(NAME_MESSAGE, QUEUE_NAME) queue = 'callbacks';
  /** Origins that callbacks may go to. */
  @TextList(CALLBACK_ORIGINS, isWebOrigin, 0) allow: string[] = [];
}

/** Log on standard output. */
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
  @Section(HistoryConfig) history = new HistoryConfig();
  @Section(PushConfig) push = new PushConfig();
  @Section(LaterConfig) later = new LaterConfig();
  @Section(LogConfig) log = new LogConfig();
  /** Warnings to log at start. Not a key: filled when the configuration is loaded. */
  @Allow() readonly warnings: string[] = [];
  /** True: the address of the tokens' Redis comes from a file of lmstfy. Not a key, as above. */
  @Allow() areTokensAtLmstfy = false;
}

function embeddedPool(): PoolConfig {
  return Object.assign(new PoolConfig(), { url: EMBEDDED });
}
