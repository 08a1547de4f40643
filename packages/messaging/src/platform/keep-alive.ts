import { MessageChannel } from 'node:worker_threads'

/** Keeps the process running, without a timer, until the function that it returns is called. */
export function keepAlive(): () => void {
  const { port1 } = new MessageChannel()
  // A port keeps the process running while somebody listens to it.
  port1.on('message', () => undefined)
  return () => port1.close()
}
