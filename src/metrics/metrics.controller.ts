import { Controller, Get, Header, Inject } from '@nestjs/common';
import { WORKER_COMMANDS, type WorkerCommands } from '../domain/worker-commands.js';

/** `/metrics` on the admin port: the metrics of all processes of the server. PrometheusModule sets its path. */
@Controller()
export class MetricsController {
  constructor(@Inject(WORKER_COMMANDS) private readonly workers: WorkerCommands) {}

  @Get()
  @Header('Content-Type', 'text/plain; version=0.0.4; charset=utf-8')
  metrics(): Promise<string> {
    return this.workers.metrics();
  }
}
