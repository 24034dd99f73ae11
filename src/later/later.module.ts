import { Module } from '@nestjs/common';
import { LaterHttp } from './later-http.js';
import { LaterService } from './later.service.js';

/** The API of later, a server of delayed HTTP callbacks: off unless `later.port` is set. */
@Module({ providers: [LaterService, LaterHttp], exports: [LaterHttp] })
export class LaterModule {}
