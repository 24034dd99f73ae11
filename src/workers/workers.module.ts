import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { WorkersService } from './workers.service.js';
import { V1WorkersController } from './workers.v1.controller.js';

@Module({
  imports: [AuthModule],
  controllers: [V1WorkersController],
  providers: [WorkersService],
})
export class WorkersModule {}
