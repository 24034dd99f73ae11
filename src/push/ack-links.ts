import { timingSafeEqual } from 'node:crypto';
import type { Config } from '../config/config.js';
import type { Seal } from './seal.js';

/** What a link acknowledges: one job under one lease. */
export interface AckRef {
  readonly pool: string;
  readonly namespace: string;
  readonly queue: string;
  readonly id: string;
  readonly lease: number;
}

/** The path of the call; `token` has the reference and its signature. A query with a token is in no log. */
export const ACK_PATH = 'push/ack';

/**
 * Signed URLs that acknowledge a job without a token. They end with the lease. Every server with the same `push.key_file`
 * accepts them.
 */
export class AckLinks {
  private constructor(
    private readonly seal: Seal,
    private readonly base: string,
  ) {}

  /** @returns null without `server.public_url` and `push.key_file` */
  static of({ server, push }: Pick<Config, 'server' | 'push'>, seal: Seal): AckLinks | null {
    if (server.public_url === undefined || push.key_file === undefined) return null;
    return new AckLinks(seal, server.public_url.replace(/\/+$/, ''));
  }

  urlOf({ pool, namespace, queue, id, lease }: AckRef): string {
    const text = Buffer.from(JSON.stringify([pool, namespace, queue, id, lease])).toString('base64url');
    return `${this.base}/${ACK_PATH}?token=${text}.${this.signed(text).toString('base64url')}`;
  }

  /** @returns null if this server, or another one with its key, has not made it */
  read(token: string): AckRef | null {
    const [text = '', signature = ''] = token.split('.');
    const [given, expected] = [Buffer.from(signature, 'base64url'), this.signed(text)];
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null;
    const [pool, namespace, queue, id, lease] = JSON.parse(Buffer.from(text, 'base64url').toString()) as [
      ...[string, string, string, string],
      number,
    ];
    return { pool, namespace, queue, id, lease };
  }

  private signed(text: string): Buffer {
    return this.seal.sign(`ack ${text}`);
  }
}
