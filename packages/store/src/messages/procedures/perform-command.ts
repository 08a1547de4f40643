import type { CommandResult, MessageCommand } from '../message-commands.ts'
import type { CallerTime } from '../message-time.ts'
import type { Procedure } from '../message-rows.ts'
import type { MessageTime } from '../message-time.ts'

/** Carries out a command at an instant of the store's clock. */
export function* performCommand(
  command: MessageCommand,
  time: { readonly storeMs: number; readonly caller: CallerTime },
): Procedure<CommandResult & { readonly time: MessageTime }> {
  throw new Error(`not built: ${command.kind} at ${time.storeMs}`)
}
