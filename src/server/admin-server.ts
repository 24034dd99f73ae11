import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { AdminAppModule } from './admin-app.module.js';
import type { AppParts } from './core.module.js';
import { createApplication } from './application.js';
import type { WorkerCommands } from '../domain/worker-commands.js';
import { adminAdapter } from '../http/adapter.js';
import { Listener } from './listener.js';
import { MetricsService } from '../metrics/metrics.service.js';
import { portOf } from './server-lifecycle.js';
import { TlsFiles } from './tls-files.js';

/** How long an admin request may go on while the server stops, in milliseconds. */
const DRAIN_MS = 1_000;

/** The admin port: one per server, however many workers it has. */
export class AdminServer {
  private constructor(
    readonly app: NestFastifyApplication,
    private readonly parts: AppParts,
    private readonly listener: Listener,
  ) {}

  /** @throws {Error} a pool is unfit or away, the port is taken, or would be open to everybody */
  static async start(parts: AppParts, commands: WorkerCommands): Promise<AdminServer> {
    const { config, log, drain } = parts;
    const tls = TlsFiles.of('admin', config.admin);
    const adapter = adminAdapter({ settings: config.server, log, drain, tls: tls?.options });
    const app = await createApplication(AdminAppModule.forRoot(parts, commands), adapter);
    const server = new AdminServer(app, parts, new Listener(app.getHttpServer(), parts, tls));
    try {
      await app.listen({ host: config.admin.host, port: config.admin.port });
    } catch (error) {
      await app.close();
      throw error;
    }
    return server;
  }

  /** What this process counts. */
  get metrics(): MetricsService {
    return this.app.get(MetricsService, { strict: false });
  }

  get port(): number {
    return portOf(this.app.getHttpServer());
  }

  announceEnd(): void {
    this.parts.drain.announced = true;
  }

  async stop(): Promise<void> {
    this.parts.drain.announced = true;
    this.parts.drain.closing = true;
    await this.listener.drain(DRAIN_MS);
    await this.app.close();
  }
}
