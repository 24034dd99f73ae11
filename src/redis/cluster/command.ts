import type { Cluster } from 'ioredis';
import { EncodedCommand } from '../wire.js';

/** Where the key is now, or will be: the driver follows these. All else is for our own calls to try again, at their own pace. */
const REDIRECTION = /^(?:MOVED|ASK) /;

/** A command that knows whether a node may be running it. */
class TracedCommand extends EncodedCommand {
  isUnderWay = false;

  override toWritable(): Buffer {
    this.isUnderWay = true;
    return super.toWritable();
  }
}

/**
 * Sends a command to the node of its key and follows it when the key has moved. The driver would try TRYAGAIN and CLUSTERDOWN again at a
 * node taken at random, whose MOVED makes it fetch the slots anew each time: they go back to the caller.
 *
 * @param bytes the command as it goes to Redis
 * @throws {Error} `not sent`: no node has run it; or what the node or the driver said
 */
export async function sendToCluster(client: Cluster, bytes: Buffer, routingKey: string): Promise<unknown> {
  const command = new TracedCommand(bytes, routingKey);
  const fail = command.reject;
  const reply = client.sendCommand(command) as Promise<unknown>;
  const follow = command.reject;
  command.reject = (error: Error): void => {
    const isAnswer = error.name === 'ReplyError';
    if (isAnswer) command.isUnderWay = false;
    if (isAnswer && REDIRECTION.test(error.message)) follow(error);
    else fail(error);
  };
  try {
    return await reply;
  } catch (error) {
    if (command.isUnderWay || !(error instanceof Error) || error.name === 'ReplyError') throw error;
    throw new Error(`not sent: ${error.message}`, { cause: error });
  }
}
