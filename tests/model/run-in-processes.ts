import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { RunAnswer, RunRequest, RunTask } from './messages.ts'

/** Sequences that a child is given at once: few, so that all are busy to the end. */
const CHUNK = { memory: 100, sqlite: 5, postgres: 5 } as const

/** Runs the sequences 0 to `sequences` in several processes, and hands on each answer as it comes. */
export async function runInProcesses(
  task: RunTask,
  {
    sequences,
    processes,
    onAnswer,
  }: {
    readonly sequences: number
    readonly processes: number
    readonly onAnswer: (answer: RunAnswer) => void
  },
): Promise<void> {
  const chunks = requestsFor(sequences, CHUNK[task.place.engine])
  const count = Math.min(processes, chunks.length)
  await Promise.all(Array.from({ length: count }, () => runChild(task, chunks, onAnswer)))
}

function requestsFor(sequences: number, size: number): RunRequest[] {
  return Array.from({ length: Math.ceil(sequences / size) }, (_, index) => ({
    from: index * size,
    until: Math.min(sequences, (index + 1) * size),
  }))
}

/** One child, which takes chunks until none is left. */
async function runChild(
  task: RunTask,
  chunks: RunRequest[],
  onAnswer: (answer: RunAnswer) => void,
): Promise<void> {
  const path = fileURLToPath(new URL('sequences.child.ts', import.meta.url))
  const child = fork(path, [JSON.stringify(task)], {
    execArgv: ['--conditions=@tidemark/source'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const exited = once(child, 'exit')
  try {
    for (let chunk = chunks.shift(); chunk !== undefined; chunk = chunks.shift()) {
      child.send(chunk)
      onAnswer(await nextAnswer(child, exited))
    }
  } finally {
    if (child.connected) child.disconnect()
  }
  await exited
}

async function nextAnswer(child: ChildProcess, exited: Promise<unknown>): Promise<RunAnswer> {
  const answer = once(child, 'message')
  const ended = exited.then(() => undefined)
  const message = await Promise.race([answer, ended])
  if (message === undefined) throw new Error('a process that ran sequences ended')
  // From the child, which is of the same version.
  return message[0] as RunAnswer
}
