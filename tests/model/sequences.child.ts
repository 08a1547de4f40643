import type { RunRequest, RunTask } from './messages.ts'
import { MessageSequences } from './messaging/message-sequences.ts'
import { SequenceRunner } from './run-sequences.ts'

// Runs the sequences that its parent asks for; ends when the parent lets go of it.

// From the parent, which is of the same version.
const task = JSON.parse(process.argv[2] ?? '') as RunTask
const runner = task.messaging ? new MessageSequences(task) : new SequenceRunner(task)
let last: Promise<void> = Promise.resolve()
process.on('message', (request: RunRequest) => {
  last = answer(request)
})
process.on('disconnect', () => {
  void end()
})

async function answer(request: RunRequest): Promise<void> {
  const done = await runner.run(request)
  process.send?.(done)
}

async function end(): Promise<void> {
  await last
  await runner.close()
}
