import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { RecurringService } from './recurring.service.js';
import { V1RecurringController } from './recurring.v1.controller.js';

/** Recurring jobs: published by interval or cron. */
@Module({
  imports: [AuthModule],
  controllers: [V1RecurringController],
  providers: [RecurringService],
})
export class RecurringModule {}
