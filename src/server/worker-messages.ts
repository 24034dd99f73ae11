import type { Sockets } from './embedded-pools.js';
import type { MetricsSnapshot } from '../metrics/metrics.service.js';

/** What the primary tells a worker. */
export type ToWorker =
  | { readonly type: 'start'; readonly sockets: Sockets; readonly accessLog: boolean }
  | { readonly type: 'access_log'; readonly on: boolean }
  | { readonly type: 'forget_tokens' }
  | { readonly type: 'metrics'; readonly id: number }
  | { readonly type: 'announce_end' }
  | { readonly type: 'stop' };

/** What a worker tells the primary. */
export type ToPrimary =
  /** It listens now: what was sent before is lost. */
  | { readonly type: 'hello' }
  | { readonly type: 'ready'; readonly port: number }
  | { readonly type: 'metrics'; readonly id: number; readonly snapshot: MetricsSnapshot };

/** True for a message of ours; cluster and libraries use the same channel. */
export function isMessage(message: unknown): message is { type: string } {
  return (
    typeof message === 'object' && message !== null && 'type' in message && typeof message.type === 'string'
  );
}
