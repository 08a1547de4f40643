import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers/promises'

// Set-up of the gate's test files. A test waits for a state, not for a time: a slow machine needs longer than any fixed sleep, and on a
// fast one everybody waits for nothing.

const MOST_MS = 100
const GUARDED = Symbol.for('tidemark.no-sleeps')

// Set-up runs again for each file, in a process that keeps its globals.
if (!Reflect.has(globalThis, GUARDED)) {
  Reflect.set(globalThis, GUARDED, true)
  timers.setTimeout = guarded(timers.setTimeout, ([ms]) => ms)
  syncBuiltinESMExports()
  globalThis.setTimeout = guarded(globalThis.setTimeout, ([, ms]) => ms)
}

/** The timer, but tests and fixtures may only call it for short times. Product code may sleep for longer: the direct caller counts. */
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
  throw new Error(`a test of the gate sleeps for ${ms} ms, more than ${MOST_MS}: ${caller}`)
}

/** The file behind this function, `refuseTests` and the proxy. Reading the stack as text would map it to sources, which takes milliseconds. */
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
