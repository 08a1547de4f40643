import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers/promises'

// Set-up of every test file of `npm test`. A test waits for what it is about, not for time: a machine that is twice as slow would need
// twice the time, and everybody waits meanwhile.

const MOST_MS = 100
/** A real fault once, which takes its time. */
const SMOKES = ['tests/faults/']

timers.setTimeout = guarded(timers.setTimeout, ([ms]) => ms)
syncBuiltinESMExports()
globalThis.setTimeout = guarded(globalThis.setTimeout, ([, ms]) => ms)

/** The same function, which a test calls for short times only. What sleeps on behalf of a product is its own matter: the caller counts. */
function guarded<Timer extends (...args: never[]) => unknown>(
  timer: Timer,
  msOf: (args: readonly unknown[]) => unknown,
): Timer {
  return new Proxy(timer, {
    apply(target, self, args: never[]) {
      const ms = msOf(args)
      if (typeof ms === 'number' && ms > MOST_MS) refuseTests(ms)
      return Reflect.apply(target, self, args)
    },
  })
}

function refuseTests(ms: number): void {
  const caller = callerOfTimer()
  if (!/\.(?:test|fixture)\.ts\b/.test(caller)) return
  if (SMOKES.some((folder) => caller.includes(folder))) return
  throw new Error(`npm test holds a sleep of ${ms} ms, more than ${MOST_MS}, in ${caller}`)
}

/** The file behind this function, `refuseTests` and the proxy. As text a stack would be mapped to its sources, which takes milliseconds. */
function callerOfTimer(): string {
  const before = ['stackTraceLimit', 'prepareStackTrace'].map(
    (name) => [name, Reflect.get(Error, name) as unknown] as const,
  )
  Error.stackTraceLimit = 4
  Error.prepareStackTrace = (_, sites) => sites
  const sites = new Error().stack as unknown as readonly NodeJS.CallSite[]
  for (const [name, value] of before) Reflect.set(Error, name, value)
  return sites[3]?.getFileName() ?? ''
}
