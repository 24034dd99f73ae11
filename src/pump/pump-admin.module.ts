import { Module } from '@nestjs/common';
import { PumpController } from './pump.controller.js';

/** Shows the loops on the admin port. Needs the global PROCESS_COMMANDS; the loops run in another application. */
@Module({ controllers: [PumpController] })
export class PumpAdminModule {}
