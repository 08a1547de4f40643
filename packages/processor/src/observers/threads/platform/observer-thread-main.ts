import { workerData } from 'node:worker_threads'
import { describeExports, observerExport } from '../observer-export.ts'
import { ObserverServer } from '../observer-server.ts'
import { portableThrown } from '../portable-error.ts'
import type { FromThread, ToThread } from '../thread-messages.ts'
import type { ObserverThreadData } from './start-observer-thread.ts'

/* What runs in a thread with observers. */

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what startObserverThread starts this thread with
void run(workerData as ObserverThreadData)

async function run({ settings: { href, data }, port }: ObserverThreadData): Promise<void> {
  const post = (message: FromThread): void => port.postMessage(message)
  let exports: Record<string, unknown>
  try {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the namespace of a module; what it exports is checked
    exports = (await import(href)) as Record<string, unknown>
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown)
    post({ kind: 'unusable', found: `cannot be loaded: ${reason}`, error: portableThrown(thrown) })
    process.exit(1)
  }
  const make = observerExport(exports)
  if (make === undefined) {
    const found = `must export createObserver, or a class or function by default, it ${describeExports(exports)}`
    post({ kind: 'unusable', found, error: undefined })
    process.exit(1)
  }
  const server = new ObserverServer({ make, data, post, nowMs: () => performance.now() })
  port.on('message', (message: ToThread) => {
    if (message.kind !== 'end') server.receive(message)
    // Observers may have left timers and sockets behind. What is on its way to stdout still arrives.
    else process.exit(0)
  })
  post({ kind: 'ready' })
}
