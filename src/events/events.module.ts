import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { EventsService } from './events.service.js';
import { V1EventsController } from './events.v1.controller.js';

@Module({
  imports: [AuthModule],
  controllers: [V1EventsController],
  providers: [EventsService],
})
export class EventsModule {}
