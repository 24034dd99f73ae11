import { Global, Module } from '@nestjs/common';
import { ScheduleModule } from '@nestjs/schedule';
import { TIMERS } from './pump.constants.js';
import { PumpService } from './pump.service.js';
import { RegistryTimers } from './registry-timers.js';

/** Runs the engines' loops in Nest's scheduler. Needs the global Engines, whose engines take `TIMERS` from here. */
@Global()
@Module({
  imports: [ScheduleModule.forRoot()],
  providers: [{ provide: TIMERS, useClass: RegistryTimers }, PumpService],
  exports: [TIMERS, PumpService],
})
export class PumpModule {}
