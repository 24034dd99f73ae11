import { Transform, Type } from 'class-transformer';
import {
  Allow,
  Equals,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsObject,
  IsOptional,
  IsString,
  Matches,
  Max,
  Min,
  MinLength,
  ValidateNested,
} from 'class-validator';
import { MAX_CONFIGURABLE_BYTES, MAX_TRIES, MAX_UINT32 } from '../domain/limits.js';

const DAY_MS = 86_400_000;
const NODE = /^(?:[^\s:/@]+|\[[0-9a-fA-F:]+\]):\d{1,5}$/;
const REDIS_URL = /^(?:embedded|rediss?:\/\/\S+)$/;
const REDIS_URL_TEXT = 'must be "embedded", redis://… or rediss://…';

/** The API's listener and processes. */
export class ServerConfig {
  @IsString() @MinLength(1) host = '0.0.0.0';
  @IsInt() @Min(0) @Max(65_535) port = 7777;
  @IsInt() @Min(1) @Max(256) workers = 1;
  @IsInt() @Min(0) @Max(DAY_MS) ready_lag_ms = 500;
  @IsInt() @Min(0) @Max(DAY_MS) drain_ms = 10_000;
  @IsInt() @Min(0) @Max(DAY_MS) keep_alive_ms = 75_000;
  @IsInt() @Min(1) @Max(DAY_MS) request_timeout_ms = 60_000;
  @IsInt() @Min(8_192) @Max(8_388_608) max_header_bytes = 131_072;
}

/** The admin listener and who may use it. */
export class AdminConfig {
  @IsString() @MinLength(1) host = '127.0.0.1';
  @IsInt() @Min(0) @Max(65_535) port = 7778;
  @IsObject() accounts: Record<string, string> = {};
}

/** Where a pool's Redis is, and how strict to be with it. */
export class PoolConfig {
  @IsOptional() @IsString() @Matches(REDIS_URL, { message: `url ${REDIS_URL_TEXT}` }) url?: string;
  @IsOptional()
  @IsArray()
  @Matches(NODE, { each: true, message: 'sentinels must be "host:port"' })
  sentinels?: string[];
  @IsOptional() @IsString() @MinLength(1) master_name?: string;
  @IsOptional() @IsString() sentinel_password?: string;
  @IsOptional()
  @IsArray()
  @Matches(NODE, { each: true, message: 'cluster must be "host:port"' })
  cluster?: string[];
  @IsOptional() @IsString() username?: string;
  @IsOptional() @IsString() password?: string;
  @IsOptional() @IsInt() @Min(0) @Max(16_383) db?: number;
  @IsBoolean() allow_unsafe = false;
  @IsOptional()
  @Equals(undefined, {
    message: 'migrate_to is not supported by this release; one that moves pools will bring it',
  })
  migrate_to?: string;
}

/** Where tokens are kept. */
export class TokensConfig {
  @IsOptional()
  @IsString()
  @Matches(/^rediss?:\/\/\S+$/, { message: 'url must be redis://… or rediss://…' })
  url?: string;
}

/** Where the embedded Redis keeps its files. */
export class DataConfig {
  @IsString() @MinLength(1) dir = 'data';
}

/** How every pool is used. */
export class RedisConfig {
  @IsInt() @Min(50) @Max(60_000) command_timeout_ms = 2_000;
  @IsString() @Matches(/^[-_.:/A-Za-z0-9]*$/) key_prefix = '';
}

/** Sizes, in bytes, inclusive. */
export class LimitsConfig {
  @IsInt() @Min(0) @Max(MAX_CONFIGURABLE_BYTES) max_body_bytes = 65_535;
  @IsInt() @Min(1) @Max(MAX_CONFIGURABLE_BYTES) max_bulk_bytes = 8_388_608;
}

/** What the lmstfy front door does where a call says nothing. */
export class LmstfyConfig {
  @IsBoolean() public_sizes = false;
  @IsInt() @Min(0) @Max(MAX_UINT32) default_delay_s = 0;
  @IsInt() @Min(0) @Max(MAX_UINT32) default_ttl_s = 86_400;
  @IsInt() @Min(1) @Max(MAX_TRIES) default_tries = 1;
  @IsInt() @Min(0) @Max(MAX_UINT32) default_ttr_s = 120;
  @IsInt() @Min(0) @Max(MAX_UINT32) default_timeout_s = 0;
}

export class MetricsConfig {
  @IsInt() @Min(0) @Max(100_000) max_queues = 200;
  @IsBoolean() public = false;
}

export class LogConfig {
  @IsIn(['debug', 'info', 'warn', 'error', 'silent']) level: 'debug' | 'info' | 'warn' | 'error' | 'silent' =
    'info';
  @IsIn(['auto', 'json', 'pretty']) format: 'auto' | 'json' | 'pretty' = 'auto';
  @IsBoolean() access = false;
}

function toPools(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value as Record<string, unknown>).map(([name, pool]) => [name, toInstance(pool)]),
  );
}

function toInstance(pool: unknown): unknown {
  return typeof pool === 'object' && pool !== null ? Object.assign(new PoolConfig(), pool) : pool;
}

/** The whole configuration, checked. `config/default.toml` documents every key. */
export class Config {
  @ValidateNested() @Type(() => ServerConfig) server = new ServerConfig();
  @ValidateNested() @Type(() => AdminConfig) admin = new AdminConfig();
  /** By name; each is checked on its own. */
  @IsObject() @Transform(({ value }) => toPools(value)) pools: Record<string, PoolConfig> = {};
  @ValidateNested() @Type(() => TokensConfig) tokens = new TokensConfig();
  @ValidateNested() @Type(() => DataConfig) data = new DataConfig();
  @ValidateNested() @Type(() => RedisConfig) redis = new RedisConfig();
  @ValidateNested() @Type(() => LimitsConfig) limits = new LimitsConfig();
  @ValidateNested() @Type(() => LmstfyConfig) lmstfy = new LmstfyConfig();
  @ValidateNested() @Type(() => MetricsConfig) metrics = new MetricsConfig();
  @ValidateNested() @Type(() => LogConfig) log = new LogConfig();
  /** What is odd but not wrong; told at start. */
  @Allow() readonly warnings: string[] = [];
}
