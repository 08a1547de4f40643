import type { ExitCode } from './exit-codes.ts'

/** Called by a command with how it ended. */
export type Finish = (code: ExitCode) => void
