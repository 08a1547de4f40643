/** What was thrown, as it crosses between threads. */
export type PortableThrown =
  | {
      readonly kind: 'error'
      readonly name: string
      readonly message: string
      readonly stack: string | undefined
      /** Own properties that can be cloned; `code` among them. */
      readonly properties: Readonly<Record<string, unknown>>
      readonly cause: PortableThrown | undefined
    }
  | { readonly kind: 'value'; readonly value: unknown }

/** Causes of causes that cross. */
const CAUSE_LIMIT = 5

/** Any value that was thrown, also one that cannot be cloned. Never throws itself. */
export function portableThrown(thrown: unknown, depth: number = 0): PortableThrown {
  try {
    if (thrown instanceof Error) return portableError(thrown, depth)
    return { kind: 'value', value: structuredClone(thrown) }
  } catch {
    return { kind: 'value', value: textOf(thrown) }
  }
}

/** The same on the other side: an error has its name, message, code, stack and causes, but not its class. */
export function thrownFromPortable(portable: PortableThrown): unknown {
  if (portable.kind === 'value') return portable.value
  const { name, message, stack, properties, cause } = portable
  const error = new Error(message)
  if (cause !== undefined) hide(error, 'cause', thrownFromPortable(cause))
  Object.assign(error, properties)
  hide(error, 'name', name)
  hide(error, 'stack', stack ?? `${name}: ${message}`)
  return error
}

function portableError(error: Error, depth: number): PortableThrown {
  const { name, message, stack, cause } = error
  const properties: Record<string, unknown> = {}
  for (const key of Object.keys(error)) {
    if (HIDDEN.has(key)) continue
    try {
      properties[key] = structuredClone<unknown>(Reflect.get(error, key))
    } catch {
      // One that cannot be cloned stays behind.
    }
  }
  // Of a class that has its code as an accessor.
  if ('code' in error && typeof error.code === 'string') properties['code'] = error.code
  return {
    kind: 'error',
    name: String(name),
    message: String(message),
    stack: typeof stack === 'string' ? stack : undefined,
    properties,
    cause:
      cause === undefined || depth >= CAUSE_LIMIT ? undefined : portableThrown(cause, depth + 1),
  }
}

const HIDDEN: ReadonlySet<string> = new Set(['name', 'message', 'stack', 'cause'])

/** As those properties of an error are: not enumerated. */
function hide(error: Error, key: string, value: unknown): void {
  Object.defineProperty(error, key, { value, configurable: true, writable: true })
}

function textOf(value: unknown): string {
  try {
    return String(value)
  } catch {
    return 'a value that has no text'
  }
}
