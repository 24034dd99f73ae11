import type { Cluster } from 'ioredis';
import { EncodedCommand } from '../scripts/script.js';

/**
 * Replies that say where the key is or will be: the driver follows these. Other errors go to our own calls, which retry
 * them at their own pace.
 */
const REDIRECTION = /^(?:MOVED|ASK) /;

/** True if a node has answered that another one has the key. */
export function isRedirection(error: unknown): boolean {
  return error instanceof Error && error.name === 'ReplyError' && REDIRECTION.test(error.message);
}

/** A command that records whether a node may be running it. */
class TracedCommand extends EncodedCommand {
  isUnderWay = false;

  override toWritable(): Buffer {
    this.isUnderWay = true;
    return super.toWritable();
  }
}

/**
 * Sends a command to the node of its key, and follows the key if it has moved. TRYAGAIN and CLUSTERDOWN errors go back
 * to the caller: the driver would retry them at a random node, whose MOVED makes it reload the slots each time.
 *
 * @param bytes the command as sent to Redis
 * @throws {Error} `not sent`: no node has run it; or the error of the node or the driver
 */
export async function sendToCluster(client: Cluster, bytes: Buffer, routingKey: string): Promise<unknown> {
  const command = new TracedCommand(bytes, routingKey);
  const fail = command.reject;
  const reply = client.sendCommand(command) as Promise<unknown>;
  const follow = command.reject;
  command.reject = (error: Error): void => {
    const isAnswer = error.name === 'ReplyError';
    if (isAnswer) command.isUnderWay = false;
    if (isRedirection(error)) follow(error);
    else fail(error);
  };
  try {
    return await reply;
  } catch (error) {
    if (command.isUnderWay || !(error instanceof Error) || error.name === 'ReplyError') throw error;
    throw /* guard: unsent-command-is-repeated */ new Error(`not sent: ${error.message}`, { cause: error });
  }
}
