import { parentPort, receiveMessageOnPort, workerData, type MessagePort } from 'node:worker_threads'
import { portableError } from '../connection/sqlite-error.ts'
import { packReply } from '../writer/committed-replies.ts'
import { unpackRequests } from '../writer/packed-requests.ts'
import type { BlockingClock } from '../writer/database-writer.ts'
import { openFileWriter } from '../writer/file-writer.ts'
import { openSyncedFile } from './sync-file.ts'
import { WriterTurns } from '../writer/writer-turns.ts'
import { checkFile } from '../reader/check-file.ts'
import type {
  CheckThreadData,
  FromWriter,
  ToWriter,
  WriterReply,
  WriterRequest,
} from '../writer/writer-messages.ts'

/*
 * The writer's thread. While a file is open it sleeps on the bell instead of in its event loop: that wakes it
 * faster, and it has nothing else to listen to.
 */

const sleepCell = new Int32Array(new SharedArrayBuffer(4))
const blockingClock: BlockingClock = {
  sleep: (ms) => {
    Atomics.wait(sleepCell, 0, 0, ms)
  },
  monotonicMs: () => performance.now(),
  fraction: () => Math.random(),
}

// Node 22 warns once in each thread that SQLite is experimental. The caller's thread has done so already.
process.removeAllListeners('warning')
if (parentPort === null) throw new Error('the writer runs in a worker thread')
const port = parentPort
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what FileChecks starts this thread with, and WriterClient without
const data = workerData as CheckThreadData | null
if (data !== null) port.postMessage(checkFile(data.fileToCheck))
else {
  port.on('message', (message: ToWriter) => {
    if (message.kind === 'open') run(port, message)
  })
}

function run(port: MessagePort, { settings, bell }: ToWriter & { readonly kind: 'open' }): void {
  const send = (message: FromWriter): void => port.postMessage(message)
  let opened: ReturnType<typeof openFileWriter>
  try {
    opened = openFileWriter(settings, { clock: blockingClock, openSyncedFile })
  } catch (error) {
    send({ kind: 'broken', error: portableError(error, settings.file) })
    port.close()
    return
  }
  send({ kind: 'ready' })
  const { writer, log, unsynced } = opened
  const turns = new WriterTurns(writer, blockingClock)
  const reply = (replies: readonly WriterReply[]): void => {
    const committed: number[] = []
    const others = replies.filter((each) => !packReply(committed, each))
    send({ kind: 'replies', committed, others, onDisk: !unsynced.any })
  }
  let closing = false
  while (!closing || turns.hasRequests) {
    const notice = log.keepShort()
    if (notice !== undefined) send({ kind: 'notice', notice })
    const heard = Atomics.load(bell, 0)
    const received = receive(port)
    closing ||= received.closing
    turns.add(received.requests)
    if (turns.work(reply) || closing || turns.purge()) continue
    if (unsynced.dueInMs === 0) {
      unsynced.sync()
      send({ kind: 'synced' })
    }
    Atomics.wait(bell, 0, heard, Math.min(log.retryInMs ?? Infinity, unsynced.dueInMs ?? Infinity))
  }
  writer.close()
  send({ kind: 'closed' })
}

/** The messages in the port: the caller's end limits their number. */
function receive(port: MessagePort): {
  readonly requests: readonly WriterRequest[]
  readonly closing: boolean
} {
  const requests: WriterRequest[] = []
  for (;;) {
    const received = receiveMessageOnPort(port)
    if (received === undefined) return { requests, closing: false }
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only WriterClient posts to this port
    const message = received.message as ToWriter
    if (message.kind !== 'requests') return { requests, closing: true }
    for (const request of unpackRequests(message)) requests.push(request)
  }
}
