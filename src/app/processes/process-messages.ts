import type { ProcessLoop } from '../../domain/loop.js';
import type { Sockets } from '../embedded-pools.js';
import type { MetricsSnapshot } from '../../metrics/metrics.service.js';

/** Messages from the primary to an API process. */
export type ToApiProcess =
  | { readonly type: 'start'; readonly sockets: Sockets; readonly accessLog: boolean }
  | { readonly type: 'access_log'; readonly on: boolean }
  | { readonly type: 'forget_tokens' }
  /** The admin port is open: `/readyz` need not wait for it. */
  | { readonly type: 'end_start' }
  | { readonly type: 'metrics'; readonly id: number }
  | { readonly type: 'loops'; readonly id: number }
  | { readonly type: 'announce_end' }
  | { readonly type: 'stop' };

/** Messages from an API process to the primary. */
export type ToPrimary =
  /** The API process listens now; earlier messages were lost. */
  | { readonly type: 'hello' }
  | { readonly type: 'ready'; readonly port: number; readonly laterPort: number | null }
  | { readonly type: 'metrics'; readonly id: number; readonly snapshot: MetricsSnapshot }
  | { readonly type: 'loops'; readonly id: number; readonly loops: readonly ProcessLoop[] };

/** True for our own messages; cluster and libraries use the same channel. */
export function isMessage(message: unknown): message is { type: string } {
  return (
    typeof message === 'object' && message !== null && 'type' in message && typeof message.type === 'string'
  );
}
