import type { ExitCode } from './exit-codes.ts'

/** A command calls it with its exit code. */
export type Finish = (code: ExitCode) => void
