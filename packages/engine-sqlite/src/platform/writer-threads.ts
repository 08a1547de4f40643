import { existsSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'
import { InvalidOptionError } from '@tidemark/contracts'

/** How long a thread without a file is kept for the next database that is opened. */
const SPARE_MS = 10_000

interface Spare {
  readonly worker: Worker
  readonly end: NodeJS.Timeout
}

let spare: Spare | undefined

/**
 * A thread that waits for `open`, and keeps no process alive. To start one and to load its modules is most of the
 * time of opening a database, so one whose file was closed is used again.
 */
export function takeThread(): Worker {
  if (spare !== undefined) {
    const { worker } = spare
    forgetSpare()
    return worker
  }
  const worker = new Worker(threadFile(), { workerData: null })
  worker.unref()
  return worker
}

/** Keeps a thread that has closed its file, without listeners; ends the one that was kept before. */
export function keepSpareThread(worker: Worker): void {
  endSpare()
  dropListeners(worker)
  worker.unref()
  // It holds nothing that could be lost.
  worker.once('exit', forgetSpare)
  worker.on('error', () => {})
  spare = { worker, end: setTimeout(endSpare, SPARE_MS).unref() }
}

function endSpare(): void {
  const worker = spare?.worker
  forgetSpare()
  worker?.terminate().catch(() => {})
}

function forgetSpare(): void {
  if (spare === undefined) return
  clearTimeout(spare.end)
  dropListeners(spare.worker)
  spare = undefined
}

/** By name: a worker has listeners of its own. */
function dropListeners(worker: Worker): void {
  for (const event of ['message', 'error', 'exit']) worker.removeAllListeners(event)
}

/**
 * Next to this file, in the sources and in the published package. In a bundle it is next to the bundle if it is an
 * entry of its own, else where the package is installed.
 */
export function threadFile(): URL {
  // A CommonJS bundle has no import.meta.
  const here = (import.meta.url as string | undefined) ?? pathToFileURL(__filename).href
  const extension = here.endsWith('.ts') ? 'ts' : 'js'
  const beside = new URL(`./writer-thread.${extension}`, here)
  if (existsSync(beside)) return beside
  try {
    return new URL(import.meta.resolve('@tidemark/engine-sqlite/writer-thread'))
  } catch (cause) {
    throw new InvalidOptionError(
      `${beside.pathname} is missing: make @tidemark/engine-sqlite/writer-thread an entry of your bundle, beside the program`,
      { cause },
    )
  }
}
