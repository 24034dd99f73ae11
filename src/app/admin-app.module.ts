import { type DynamicModule, Module } from '@nestjs/common';
import { AdminContext } from './admin-context.js';
import { AuditTrail } from '../admin/audit/audit-trail.js';
import { SignIn } from '../admin/sessions/sign-in.js';
import { AdminModule } from '../admin/admin.module.js';
import { type AppParts, CoreModule } from './core.module.js';
import { PROCESS_COMMANDS, type ProcessCommands } from '../domain/process-commands.js';
import { AuthModule } from '../auth/auth.module.js';
import { ConsoleModule } from '../console/console.module.js';
import { HttpModule } from '../http/http.module.js';
import { HealthModule } from '../health/health.module.js';
import { OpenApiModule } from '../openapi/openapi.module.js';
import { PumpAdminModule } from '../pump/pump-admin.module.js';

/** What the hooks of the port and its calls share. */
export interface SharedParts {
  readonly signIn: SignIn;
  readonly trail: AuditTrail;
}

@Module({})
class CommandsModule {
  static forRoot(commands: ProcessCommands, { signIn, trail }: SharedParts): DynamicModule {
    const providers = [
      { provide: PROCESS_COMMANDS, useValue: commands },
      { provide: SignIn, useValue: signIn },
      { provide: AuditTrail, useValue: trail },
    ];
    const exported = [PROCESS_COMMANDS, SignIn, AuditTrail];
    return { module: CommandsModule, global: true, providers, exports: exported };
  }
}

/** The Nest application behind the admin port. */
@Module({})
export class AdminAppModule {
  static forRoot(parts: AppParts, commands: ProcessCommands, shared: SharedParts): DynamicModule {
    return {
      module: AdminAppModule,
      imports: [
        CoreModule.forRoot(parts),
        HttpModule.forAdmin(),
        CommandsModule.forRoot(commands, shared),
        AuthModule,
        AdminModule,
        ConsoleModule,
        PumpAdminModule,
        HealthModule,
        OpenApiModule.forAdmin(),
      ],
      providers: [AdminContext],
    };
  }
}
