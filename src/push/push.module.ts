import { Module } from '@nestjs/common';
import { AuthModule } from '../auth/auth.module.js';
import { Config } from '../config/config.js';
import { PushAckController } from './ack.controller.js';
import { AckLinks } from './ack-links.js';
import { PushService } from './push.service.js';
import { Seal } from './seal.js';
import { TargetsService } from './targets.service.js';
import { V1TargetsController } from './targets.v1.controller.js';

/** HTTP push: sends the jobs of queues to URLs. */
@Module({
  imports: [AuthModule],
  controllers: [V1TargetsController, PushAckController],
  providers: [
    { provide: Seal, inject: [Config], useFactory: ({ push }: Config) => Seal.fromFile(push.key_file) },
    {
      provide: AckLinks,
      inject: [Config, Seal],
      useFactory: (config: Config, seal: Seal) => AckLinks.of(config, seal),
    },
    TargetsService,
    PushService,
  ],
})
export class PushModule {}
