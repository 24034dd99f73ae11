import { Controller, Get, Header, Inject } from '@nestjs/common';
import { PROCESS_COMMANDS, type ProcessCommands } from '../domain/process-commands.js';

/** `/metrics` on the admin port: the metrics of all processes of the server. PrometheusModule sets its path. */
@Controller()
export class MetricsController {
  constructor(@Inject(PROCESS_COMMANDS) private readonly processes: ProcessCommands) {}

  @Get()
  @Header('Content-Type', 'text/plain; version=0.0.4; charset=utf-8')
  metrics(): Promise<string> {
    return this.processes.metrics();
  }
}
