import { Module, type DynamicModule } from '@nestjs/common';
import { Config } from './config.js';

/** Provides the loaded configuration for injection as `Config`. */
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
