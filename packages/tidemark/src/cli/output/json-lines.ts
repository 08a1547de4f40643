import type { Writable } from 'node:stream'
import { visible } from './visible.ts'

/** Writes one JSON text on a line, and waits when the reader is slow. Resolves false when the reader is gone. */
export async function writeJsonLine(output: Writable, value: unknown): Promise<boolean> {
  return writeText(output, `${JSON.stringify(value, replaceErrors)}\n`)
}

/**
 * Writes it with control characters escaped. Resolves once the text was taken, with false when the reader is gone, as
 * with `| head`.
 */
export async function writeText(output: Writable, text: string): Promise<boolean> {
  if (output.destroyed || output.errored) return false
  if (output.write(visible(text))) return true
  // What happened counts, not the state afterwards: the standard output forgets that its reader is gone.
  return new Promise<boolean>((resolve) => {
    const onDrain = (): void => settle(true)
    const onGone = (): void => settle(false)
    const settle = (isTaken: boolean): void => {
      output.off('drain', onDrain).off('close', onGone).off('error', onGone)
      resolve(isTaken)
    }
    output.on('drain', onDrain).on('close', onGone).on('error', onGone)
  })
}

/** An error has no properties of its own that JSON would show. */
function replaceErrors(_name: string, value: unknown): unknown {
  if (!(value instanceof Error)) return value
  const code: unknown = Reflect.get(value, 'code')
  return { name: value.name, code, message: value.message }
}
