import { signal, type Signal } from '@preact/signals'

/** Wall time of this machine, ms since the Unix epoch. */
export function browserMs(): number {
  return Date.now()
}

/** Resolves after `delayMs`, or as soon as `signal` aborts. */
export function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(done, delayMs)
    function done(): void {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    signal.addEventListener('abort', done, { once: true })
  })
}

export function everySecond(act: () => void): void {
  setInterval(act, 1_000)
}

/** Calls `late` unless `touch` is called at least every `limitMs`. */
export class Watchdog implements Disposable {
  readonly #limitMs: number
  readonly #late: () => void
  #timer: ReturnType<typeof setTimeout>

  constructor(limitMs: number, late: () => void) {
    this.#limitMs = limitMs
    this.#late = late
    this.#timer = setTimeout(late, limitMs)
  }

  touch(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(this.#late, this.#limitMs)
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
  }
}

/** Whether the page is as narrow as a phone. */
export const isNarrow: Signal<boolean> = signal(false)
const narrow = matchMedia('(max-width: 640px)')
isNarrow.value = narrow.matches
narrow.addEventListener('change', () => (isNarrow.value = narrow.matches))

/** Counts changes between light and dark, for what draws its colours itself. */
export const schemeChanges: Signal<number> = signal(0)
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  schemeChanges.value += 1
})

/** Epoch ms of what an `<input type="datetime-local">` holds, which is in the zone of whoever looks. */
export function msOfLocal(local: string): number | undefined {
  const ms = Date.parse(local)
  return Number.isNaN(ms) ? undefined : ms
}

export function isoOf(ms: number): string {
  return new Date(ms).toISOString()
}
