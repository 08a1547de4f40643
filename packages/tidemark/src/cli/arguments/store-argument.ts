import { Argument, type Command } from 'commander'

/** Names the store where no argument or option does, so that a URL with a password need not be an argument. */
export const STORE_VARIABLE = 'TIDEMARK_STORE'

/** The last argument of a command, which names a store. Its action asks `givenStore` for it. */
export function storeArgument(description = 'folder or postgres:// URL of the store'): Argument {
  return new Argument('[store]', `${description} (env: ${STORE_VARIABLE})`)
}

/** Undefined when the variable is not set. */
export function storeOfEnvironment(): string | undefined {
  return process.env[STORE_VARIABLE] || undefined
}

/** Ends the command as wrong use when nothing names a store. */
export function givenStore(argument: string | undefined, action: Command): string {
  return (
    argument ??
    storeOfEnvironment() ??
    action.error(`error: missing required argument 'store'; give it, or set ${STORE_VARIABLE}\n`)
  )
}
