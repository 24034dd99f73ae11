import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { RecurringService } from './recurring.service.js';
import { V1RecurringController } from './recurring.v1.controller.js';

/** Jobs that are made by the clock. */
@Module({
  imports: [AuthModule],
  controllers: [V1RecurringController],
  providers: [RecurringService],
})
export class SchedulesModule {}
