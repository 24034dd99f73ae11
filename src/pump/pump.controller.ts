import { Controller, Get, Inject } from '@nestjs/common';
import type { ProcessLoop } from '../domain/loop.js';
import { PROCESS_COMMANDS, type ProcessCommands } from '../domain/process-commands.js';

/** The background loops, on the admin port. */
@Controller('loops')
export class PumpController {
  constructor(@Inject(PROCESS_COMMANDS) private readonly processes: ProcessCommands) {}

  /** Returns the last and the next run of each loop, for each process that serves the API. */
  @Get()
  async list(): Promise<object> {
    return { loops: (await this.processes.loops()).map(viewOf) };
  }
}

function viewOf({ pid, pool, name, lastError, ...loop }: ProcessLoop): object {
  return {
    pid,
    pool,
    name,
    last_run_at: dateOf(loop.lastRunMs),
    duration_ms: rounded(loop.durationMs),
    moved: loop.moved,
    lag_ms: rounded(loop.lagMs),
    next_run_at: dateOf(loop.nextRunMs),
    last_error: lastError?.message ?? null,
    last_error_at: dateOf(lastError?.atMs ?? null),
  };
}

function dateOf(unixMs: number | null): string | null {
  return unixMs === null ? null : new Date(unixMs).toISOString();
}

/** Rounds to a tenth of a millisecond. */
function rounded(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms * 10) / 10;
}
