import { Module, type DynamicModule } from '@nestjs/common';
import { Config } from './config.js';

/** Gives the loaded configuration to whoever injects `Config`. */
@Module({})
export class ConfigModule {
  static forRoot(config: Config): DynamicModule {
    return {
      module: ConfigModule,
      global: true,
      providers: [{ provide: Config, useValue: config }],
      exports: [Config],
    };
  }
}
