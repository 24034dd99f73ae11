import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { AdminHttp, type NativeCalls } from '../admin/admin-http.js';
import { AuditStore } from '../auth/audit-store.js';
import { AuditTrail } from '../admin/audit/audit-trail.js';
import { Audit } from '../admin/audit/audit.js';
import { Sessions } from '../admin/sessions/sessions.js';
import { SignIn } from '../admin/sessions/sign-in.js';
import { AdminAppModule } from './admin-app.module.js';
import { AdminContext } from './admin-context.js';
import type { AppParts } from './core.module.js';
import { createApplication } from './application.js';
import type { ProcessCommands } from '../domain/process-commands.js';
import { adminAdapter } from '../http/adapter.js';
import { Listener } from './listener/listener.js';
import type { MetricsService } from '../metrics/metrics.service.js';
import { boundPipelines } from '../http/request/connection.js';
import { portOf } from './server-lifecycle.js';
import { TlsFiles } from './listener/tls-files.js';

/** How long admin requests may continue while the server shuts down, in milliseconds. */
const DRAIN_MS = 1_000;

/** The admin port: one per server, for all workers. */
export class AdminServer {
  private constructor(
    readonly app: NestFastifyApplication,
    readonly context: AdminContext,
    private readonly parts: AppParts,
    private readonly listener: Listener,
  ) {}

  /**
   * @throws {Error} a pool is unsuitable or unreachable, the port is taken, or it would be open to other machines
   * without accounts
   * @param calls serves the calls of the native API that accounts make
   */
  static async start(parts: AppParts, commands: ProcessCommands, calls: NativeCalls): Promise<AdminServer> {
    const { config, log } = parts;
    const tls = TlsFiles.of('admin', config.admin);
    const adapter = adminAdapter({ settings: config.server, tls: tls?.options });
    const signIn = new SignIn(config.admin);
    const trail = new AuditTrail(log);
    const http = new AdminHttp({ config, log, audit: new Audit(log), trail, signIn, calls });
    http.setUp(adapter.getInstance());
    const app = await createApplication(AdminAppModule.forRoot(parts, commands, { signIn, trail }), adapter);
    http.useSessions(app.get(Sessions, { strict: false }));
    trail.useStore(app.get(AuditStore, { strict: false }));
    const server = new AdminServer(
      app,
      app.get(AdminContext),
      parts,
      new Listener(app.getHttpServer(), parts, tls),
    );
    boundPipelines(app.getHttpServer());
    try {
      await app.listen({ host: config.admin.host, port: config.admin.port });
    } catch (error) {
      await app.close();
      throw error;
    }
    return server;
  }

  /** The metrics of this process; undefined if it counts elsewhere. */
  get metrics(): MetricsService | undefined {
    return this.context.metrics;
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
