import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { SessionsService } from './sessions.service.js';
import { V1SessionsController } from './sessions.v1.controller.js';

@Module({
  imports: [AuthModule],
  controllers: [V1SessionsController],
  providers: [SessionsService],
})
export class SessionsModule {}
