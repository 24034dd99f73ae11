import type { IncomingMessage, ServerResponse } from 'node:http';
import type { NativeCalls } from '../admin/admin-http.js';
import type { ApiServer } from './api-server.js';
import type { AppParts } from './core.module.js';

/**
 * The native API of a process that serves only the admin port: the primary of a cluster. It starts with the first call,
 * so that a server whose admin port is used for tokens alone pays nothing for it.
 */
export class OwnNativeCalls implements NativeCalls {
  private starting: Promise<ApiServer> | undefined;

  /** Set once it has started. */
  api: ApiServer | undefined;

  constructor(private readonly parts: AppParts) {}

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    this.starting ??= this.start();
    try {
      (await this.starting).serve(request, response);
    } catch (error) {
      // The next call tries again.
      this.starting = undefined;
      throw error;
    }
  }

  /** Ends it, if it has started. */
  async stop(): Promise<void> {
    const api = await this.starting?.catch(() => undefined);
    await api?.stop();
  }

  private async start(): Promise<ApiServer> {
    const { ApiServer: Server } = await import('./api-server.js');
    this.api = await Server.startUnheard({ ...this.parts, metrics: { reads: false } });
    return this.api;
  }
}
