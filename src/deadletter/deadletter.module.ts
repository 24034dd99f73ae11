import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { LmstfyDeadletterController } from './deadletter.lmstfy.controller.js';
import { DeadletterService } from './deadletter.service.js';

@Module({
  imports: [AuthModule],
  controllers: [LmstfyDeadletterController],
  providers: [DeadletterService],
})
export class DeadletterModule {}
