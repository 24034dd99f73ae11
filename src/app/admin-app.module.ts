import { type DynamicModule, Module } from '@nestjs/common';
import { AdminContext } from './admin-context.js';
import { AdminModule } from '../admin/admin.module.js';
import { type AppParts, CoreModule } from './core.module.js';
import { PROCESS_COMMANDS, type ProcessCommands } from '../domain/process-commands.js';
import { AuthModule } from '../auth/auth.module.js';
import { ConsoleModule } from '../console/console.module.js';
import { HttpModule } from '../http/http.module.js';
import { HealthModule } from '../health/health.module.js';
import { PumpAdminModule } from '../pump/pump-admin.module.js';

@Module({})
class CommandsModule {
  static forRoot(commands: ProcessCommands): DynamicModule {
    const provider = { provide: PROCESS_COMMANDS, useValue: commands };
    return { module: CommandsModule, global: true, providers: [provider], exports: [PROCESS_COMMANDS] };
  }
}

/** The Nest application behind the admin port. */
@Module({})
export class AdminAppModule {
  static forRoot(parts: AppParts, commands: ProcessCommands): DynamicModule {
    return {
      module: AdminAppModule,
      imports: [
        CoreModule.forRoot(parts),
        HttpModule.forAdmin(),
        CommandsModule.forRoot(commands),
        AuthModule,
        AdminModule,
        ConsoleModule,
        PumpAdminModule,
        HealthModule,
      ],
      providers: [AdminContext],
    };
  }
}
