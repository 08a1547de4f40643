import { parentPort, receiveMessageOnPort, workerData, type MessagePort } from 'node:worker_threads'
import { portableError } from '../connection/sqlite-error.ts'
import { packReply } from '../writer/committed-replies.ts'
import { BackgroundRequests } from '../tasks/background-requests.ts'
import { DatabaseWriter, type BlockingClock } from '../tasks/database-writer.ts'
import { checkFile } from '../reader/check-file.ts'
import type {
  CheckThreadData,
  FromWriter,
  ToWriter,
  WriterRequest,
  WriterThreadData,
} from '../writer/writer-messages.ts'

/*
 * The writer's thread. It sleeps on the bell instead of in its event loop: that wakes it faster, and it
 * has nothing else to listen to.
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
// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what WriterClient and checkInThread start this thread with
const data = workerData as WriterThreadData | CheckThreadData
if ('fileToCheck' in data) parentPort.postMessage(checkFile(data.fileToCheck))
else run(parentPort, data)

function run(port: MessagePort, { settings, bell }: WriterThreadData): void {
  const send = (message: FromWriter): void => port.postMessage(message)
  let writer: DatabaseWriter
  try {
    writer = new DatabaseWriter(settings, blockingClock)
  } catch (error) {
    send({ kind: 'broken', error: portableError(error, settings.file) })
    return
  }
  send({ kind: 'ready' })
  const background = new BackgroundRequests(blockingClock)
  let waiting: readonly WriterRequest[] = []
  let closing = false
  for (let purging = true; ;) {
    const notice = writer.log.keepShort()
    if (notice !== undefined) send({ kind: 'notice', notice })
    const heard = Atomics.load(bell, 0)
    const received = receive(port)
    closing ||= received.closing
    const urgent = background.setAside(received.requests)
    if (urgent.length > 0) waiting = [...waiting, ...urgent]
    const isBusy = waiting.length > 0
    // Background work runs when no request waits, and from time to time under constant load.
    const piece = isBusy ? background.overdue() : background.next()
    if (isBusy) {
      const committed: number[] = []
      const replies = writer.runGroup(waiting)
      const others = replies.filter((reply) => !packReply(committed, reply))
      send({ kind: 'replies', committed, others })
      purging ||= waiting.slice(0, replies.length).some(leavesRowsBehind)
      waiting = waiting.slice(replies.length)
      writer.yieldToOthers()
    }
    if (piece !== undefined) {
      send({ kind: 'replies', committed: [], others: writer.runGroup([piece]) })
      purging ||= leavesRowsBehind(piece)
      writer.yieldToOthers()
    } else if (isBusy) {
      continue
    } else if (purging && !closing) {
      purging = writer.purge()
      writer.yieldToOthers()
    } else if (!closing) {
      Atomics.wait(bell, 0, heard, writer.log.retryInMs)
    }
    if (closing && waiting.length === 0 && background.isEmpty) break
  }
  writer.close()
  send({ kind: 'closed' })
  port.close()
}

/** Whether there may be segments afterwards that no range has any more. */
function leavesRowsBehind({ task }: WriterRequest): boolean {
  switch (task.kind) {
    case 'deleteCollection':
    case 'splitRange':
    case 'mergeRanges':
      return true
    case 'maintain':
      return task.work?.kind === 'fold'
    default:
      return false
  }
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
    if (message.kind === 'close') return { requests, closing: true }
    for (const request of message.requests) requests.push(request)
  }
}
