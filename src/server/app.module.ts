import { type DynamicModule, Module } from '@nestjs/common';
import { AdminModule } from '../admin/admin.module.js';
import { type AppParts, CoreModule } from './core.module.js';
import { DeadletterModule } from '../deadletter/deadletter.module.js';
import { WORKER_COMMANDS, type WorkerCommands } from '../domain/worker-commands.js';
import { EventsModule } from '../events/events.module.js';
import { HealthModule } from '../health/health.module.js';
import { JobsModule } from '../jobs/jobs.module.js';
import { WorkersModule } from '../workers/workers.module.js';
import { OpenApiModule } from '../openapi/openapi.module.js';
import { QueuesModule } from '../queues/queues.module.js';
import { SchedulesModule } from '../schedules/schedules.module.js';
import { SettingsModule } from '../settings/settings.module.js';
import { StatsModule } from '../stats/stats.module.js';

/** The application that serves the queue API. */
@Module({})
export class ApiAppModule {
  static forRoot(parts: AppParts): DynamicModule {
    return {
      module: ApiAppModule,
      imports: [
        CoreModule.forRoot(parts),
        JobsModule,
        DeadletterModule,
        QueuesModule,
        StatsModule,
        SettingsModule,
        EventsModule,
        HealthModule,
        OpenApiModule,
        SchedulesModule,
        WorkersModule,
      ],
    };
  }
}

@Module({})
class CommandsModule {
  static forRoot(commands: WorkerCommands): DynamicModule {
    const provider = { provide: WORKER_COMMANDS, useValue: commands };
    return { module: CommandsModule, global: true, providers: [provider], exports: [WORKER_COMMANDS] };
  }
}

/** The application behind the admin port. */
@Module({})
export class AdminAppModule {
  static forRoot(parts: AppParts, commands: WorkerCommands): DynamicModule {
    return {
      module: AdminAppModule,
      imports: [CoreModule.forRoot(parts), CommandsModule.forRoot(commands), AdminModule, HealthModule],
    };
  }
}
