import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers/promises'

// Set-up of every test file of `npm test`. A test waits for what it is about, not for time: a machine that is twice as slow would need
// twice the time, and everybody waits meanwhile.

const MOST_MS = 100
/** A real fault once, which takes its time. */
const SMOKES = ['tests/faults/']

const { setTimeout: sleep } = timers
timers.setTimeout = ((ms, ...rest) => {
  if (ms !== undefined && ms > MOST_MS) refuse(ms, new Error().stack ?? '')
  return sleep(ms, ...rest)
}) as typeof sleep
syncBuiltinESMExports()

/** What sleeps on behalf of a product is its own matter: the one who calls counts. */
function refuse(ms: number, stack: string): void {
  const caller = stack.split('\n')[2] ?? ''
  if (!/\.(?:test|fixture)\.ts\b/.test(caller)) return
  if (SMOKES.some((folder) => caller.includes(folder))) return
  throw new Error(`npm test holds a sleep of ${ms} ms, more than ${MOST_MS}:${caller}`)
}
