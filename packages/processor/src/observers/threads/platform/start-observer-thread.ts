import { existsSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { MessageChannel, Worker, receiveMessageOnPort } from 'node:worker_threads'
import { InvalidOptionError } from '@tidemark/contracts'
import type { ResolvedObserverModule } from '../observer-module.ts'
import type {
  FromThread,
  ThreadHandle,
  ThreadListener,
  ThreadSettings,
  ToThread,
} from '../thread-messages.ts'

export interface ObserverThreadData {
  readonly settings: ThreadSettings
  readonly port: MessagePort
}

type MessagePort = MessageChannel['port1']

/**
 * Starts a worker thread for observers. Messages go over a channel of their own, so that the module may use
 * `parentPort` as it likes.
 */
export function startObserverThread(
  { href, data, resourceLimits }: ResolvedObserverModule,
  listener: ThreadListener,
): ThreadHandle {
  const { port1, port2 } = new MessageChannel()
  const workerData: ObserverThreadData = { settings: { href, data }, port: port2 }
  const worker = new Worker(threadFile(), {
    name: 'tidemark-observers',
    workerData,
    transferList: [port2],
    resourceLimits: definedLimits(resourceLimits),
  })
  let uncaught: unknown
  port1.on('message', (message: FromThread) => listener.onMessage(message))
  worker.on('error', (error) => {
    uncaught = error
  })
  worker.on('exit', (exitCode) => {
    // What it had said before it ended.
    for (let last = receiveMessageOnPort(port1); last; last = receiveMessageOnPort(port1)) {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only our thread posts to this port
      listener.onMessage(last.message as FromThread)
    }
    port1.close()
    listener.onExit({ exitCode, error: uncaught })
  })
  return {
    post: (message: ToThread) => port1.postMessage(message),
    terminate: () => void worker.terminate(),
  }
}

/** The platform takes no undefined ones. */
function definedLimits(limits: ResolvedObserverModule['resourceLimits']): Record<string, number> {
  const defined = Object.entries(limits).filter(([, value]) => value !== undefined)
  return Object.fromEntries(defined)
}

/**
 * Beside this file, in the sources as in what is published. In a bundle it is beside the bundle if it was made an
 * entry of its own, else where the package is installed.
 */
function threadFile(): URL {
  // A bundle of CommonJS has no import.meta.
  const here = (import.meta.url as string | undefined) ?? pathToFileURL(__filename).href
  const extension = here.endsWith('.ts') ? 'ts' : 'js'
  const beside = new URL(`./observer-thread-main.${extension}`, here)
  if (existsSync(beside)) return beside
  try {
    return new URL(import.meta.resolve('@tidemark/processor/observer-thread-main'))
  } catch (cause) {
    throw new InvalidOptionError(
      `${beside.pathname} is missing: make @tidemark/processor/observer-thread-main an entry of your bundle, beside the program`,
      { cause },
    )
  }
}
